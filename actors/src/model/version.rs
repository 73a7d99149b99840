//! The versions of the Messages API, and the one that a request names.
//!
//! Source: the API's documentation of versions and its migration guide for 2026-10-21.

use super::ModelError;

/// A version of the Messages API, as the header `anthropic-version` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiVersion {
    /// `2023-06-01`.
    June2023,
    /// `2026-10-21`. It takes no sampling parameters, whatever the model.
    October2026,
}

impl ApiVersion {
    /// The date that names it.
    #[must_use]
    pub fn date(self) -> &'static str {
        match self {
            Self::June2023 => "2023-06-01",
            Self::October2026 => "2026-10-21",
        }
    }

    /// True if a request may have a temperature.
    pub(super) fn takes_temperature(self) -> bool {
        match self {
            Self::June2023 => true,
            Self::October2026 => false,
        }
    }

    /// The version to ask with after a refusal that names this one; `None` if the refusal has
    /// another reason.
    pub(super) fn in_its_place(self, error: &ModelError) -> Option<Self> {
        let ModelError::Api {
            status: 400 | 404 | 422,
            message,
            ..
        } = error
        else {
            return None;
        };
        let message = message.to_ascii_lowercase().replace('_', "-");
        let is_named = message.contains("anthropic-version") || message.contains(self.date());
        is_named.then_some(match self {
            Self::June2023 => Self::October2026,
            Self::October2026 => Self::June2023,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [MODEL-799]
    #[test]
    fn a_refusal_that_names_the_version_is_told_from_others() {
        let refused = |status, message: &str| ModelError::Api {
            status,
            kind: "invalid_request_error".to_owned(),
            message: message.to_owned(),
            request_id: None,
        };
        let newest = ApiVersion::October2026;
        for message in [
            "anthropic-version: \"2026-10-21\" is not a valid version",
            "unknown value of anthropic_version",
            "version 2026-10-21 is not supported",
        ] {
            let other = newest.in_its_place(&refused(400, message));
            assert_eq!(other, Some(ApiVersion::June2023), "{message}");
            assert_eq!(newest.in_its_place(&refused(500, message)), None);
        }
        assert_eq!(
            newest.in_its_place(&refused(400, "prompt is too long")),
            None
        );
    }
}
