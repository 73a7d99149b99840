//! Named prompts: skills and templates.

use super::{Harness, HarnessError, Reply};
use crate::guidance::{PromptTemplate, Skill};

impl Harness {
    /// The skills.
    #[must_use]
    pub fn skills(&self) -> Vec<Skill> {
        self.guidance.get().skills.clone()
    }

    /// Replaces the skills. The model's list of them changes with the next run.
    pub fn set_skills(&self, skills: Vec<Skill>) {
        self.guidance.change(|guidance| guidance.skills = skills);
    }

    /// The prompt templates.
    #[must_use]
    pub fn prompt_templates(&self) -> Vec<PromptTemplate> {
        self.guidance.get().templates.clone()
    }

    /// Replaces the prompt templates.
    pub fn set_prompt_templates(&self, templates: Vec<PromptTemplate>) {
        self.guidance
            .change(|guidance| guidance.templates = templates);
    }

    /// Submits the instructions of a skill and further text, as [`Self::prompt`] does. It also works for a skill that
    /// is hidden from the model.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use harness_actors::guidance::Skill;
    /// use harness_actors::model::{ScriptedReply, ScriptedTransport};
    /// use harness_actors::{Config, Harness, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = ScriptedTransport::default();
    /// let mut options = Options::new(Config::for_model("any"));
    /// options.extensions.transport = Some(Arc::new(model.clone()));
    /// options.skills = vec![Skill {
    ///     name: "review".to_owned(),
    ///     description: "How to review a change".to_owned(),
    ///     content: "Look for what is missing first.".to_owned(),
    ///     ..Skill::default()
    /// }];
    /// let harness = Harness::start(options)?;
    /// model.push(ScriptedReply::text("Done."));
    /// harness.skill("review", &["Only the last commit."]).await?;
    /// let request = &model.requests()[0];
    /// let said = request["messages"][0]["content"][0]["text"].as_str().unwrap();
    /// assert!(said.contains("Look for what is missing first."));
    /// assert!(said.ends_with("Only the last commit."));
    /// // The system prompt lists the skill, too, so that the model can use it by itself.
    /// assert!(request["system"].to_string().contains("How to review a change"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An unknown name, or as [`Self::prompt`].
    pub async fn skill(&self, name: &str, extra: &[&str]) -> Result<Reply, HarnessError> {
        let guidance = self.guidance.get();
        let Some(skill) = guidance.skill(name) else {
            return Err(HarnessError::UnknownSkill {
                name: name.to_owned(),
                skills: list(guidance.skills.iter().map(|skill| &*skill.name)),
            });
        };
        self.prompt(&skill.invocation(&owned(extra))).await
    }

    /// Submits a prompt template with these arguments in its places, as [`Self::prompt`] does.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use harness_actors::guidance::PromptTemplate;
    /// use harness_actors::model::{ScriptedReply, ScriptedTransport};
    /// use harness_actors::{Config, Harness, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = ScriptedTransport::default();
    /// let mut options = Options::new(Config::for_model("any"));
    /// options.extensions.transport = Some(Arc::new(model.clone()));
    /// options.templates = vec![PromptTemplate {
    ///     name: "explain".to_owned(),
    ///     content: "Explain $1 to a $2.".to_owned(),
    ///     ..PromptTemplate::default()
    /// }];
    /// let harness = Harness::start(options)?;
    /// model.push(ScriptedReply::text("A file is like a drawer."));
    /// harness.prompt_from_template("explain", &["files", "child"]).await?;
    /// let said = model.requests()[0]["messages"][0]["content"][0]["text"].clone();
    /// assert_eq!(said, "Explain files to a child.");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An unknown name, or as [`Self::prompt`].
    pub async fn prompt_from_template(
        &self,
        name: &str,
        args: &[&str],
    ) -> Result<Reply, HarnessError> {
        let guidance = self.guidance.get();
        let Some(template) = guidance.template(name) else {
            return Err(HarnessError::UnknownTemplate {
                name: name.to_owned(),
                templates: list(guidance.templates.iter().map(|template| &*template.name)),
            });
        };
        self.prompt(&template.expand(&owned(args))).await
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}
