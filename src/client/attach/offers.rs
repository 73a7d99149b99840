//! The service's models, skills and templates to choose from.

use std::rc::Rc;

use harness_protocol::FoundFiles;
use harness_tui::{News, Offer, OfferKind};
use serde::Deserialize;

use crate::client::api::error::ApiError;
use crate::client::api::routes;
use crate::client::attach::contact::Contact;

/// The answer to `GET /v1/models`, with the fields that a choice needs.
#[derive(Debug, Deserialize)]
struct ModelsAnswer {
    models: Vec<OfferedModel>,
}

#[derive(Debug, Deserialize)]
struct OfferedModel {
    id: String,
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    lifecycle: Option<String>,
    #[serde(default)]
    retires_at: Option<String>,
    #[serde(default)]
    max_input_tokens: Option<u64>,
}

impl OfferedModel {
    /// True if the model can be chosen.
    fn is_served(&self) -> bool {
        self.lifecycle.as_deref() != Some("retired")
    }
}

/// The answer to `GET /v1/skills` and `GET /v1/templates`.
#[derive(Debug, Deserialize)]
struct NamedGuidance {
    #[serde(alias = "skills", alias = "templates")]
    named: Vec<NamedOne>,
    #[serde(default)]
    problems: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct NamedOne {
    name: String,
    #[serde(default)]
    description: String,
}

/// Gets all of a kind that there are in a folder.
pub(super) async fn offers(contact: Rc<Contact>, kind: OfferKind, folder: Option<String>) {
    let news = match all(&contact, kind, folder.as_deref()).await {
        Ok((offers, problems)) => News::Offered {
            kind,
            folder,
            offers,
            problems,
        },
        Err(error) => News::NotOffered {
            kind,
            reason: error.to_string(),
        },
    };
    contact.tell(news).await;
}

/// Gets the files of a conversation's folder that match a name; none if the request fails, for example because the
/// service does not know the route.
pub(super) async fn files(contact: Rc<Contact>, conversation: String, query: String) {
    let answer = contact.ask(&routes::files(&conversation, &query)).await;
    let found = answer.unwrap_or_else(|error| {
        log::warn!("no files can be offered: {error}");
        FoundFiles {
            query,
            is_whole: true,
            ..FoundFiles::default()
        }
    });
    let news = News::Files {
        conversation,
        found,
    };
    contact.tell(news).await;
}

async fn all(
    contact: &Contact,
    kind: OfferKind,
    folder: Option<&str>,
) -> Result<(Vec<Offer>, Vec<String>), ApiError> {
    let route = match kind {
        OfferKind::Models => {
            let ModelsAnswer { models } = contact.ask(&routes::models().answered_as()).await?;
            let served = models.into_iter().filter(OfferedModel::is_served);
            return Ok((served.map(model).collect(), Vec::new()));
        }
        OfferKind::Skills => routes::skills(folder),
        OfferKind::Templates => routes::templates(folder),
    };
    let NamedGuidance { named, problems } = contact.ask(&route.answered_as()).await?;
    let offers = named.into_iter().map(|one| Offer {
        name: one.name,
        description: one.description,
    });
    Ok((offers.collect(), problems))
}

fn model(model: OfferedModel) -> Offer {
    let room = model.max_input_tokens;
    let room = room.map(|tokens| format!("{}k tokens", tokens / 1_000));
    let end = model.retires_at.as_deref().and_then(|time| time.get(..10));
    let end = end.map(|day| format!("until {day}"));
    let words: Vec<String> = [model.display_name]
        .into_iter()
        .filter(|name| !name.is_empty())
        .chain(model.lifecycle.filter(|word| word != "active"))
        .chain(end)
        .chain(room)
        .collect();
    Offer {
        name: model.id,
        description: words.join(" · "),
    }
}
