//! How a service shows that it wrote the file that names it, without showing the key.
//!
//! The key is new at each start and is in `service.json`, which only the owner can read. A
//! client sends a nonce; what answers with the right HMAC has the key, and it is the service.

use harness_actors::Secret;
use harness_protocol::challenge;
use ring::hmac;

use crate::state_dir::{StateError, random_hex};

/// How many random bytes a key and a nonce have.
const BYTES: usize = 32;
/// How many hexadecimal digits a nonce may have.
const NONCE_DIGITS: std::ops::RangeInclusive<usize> = 32..=128;
/// How many hexadecimal digits of a fingerprint are shown: enough to tell two secrets apart.
const FINGERPRINT_DIGITS: usize = 16;

/// The key by which one service, from its start to its end, proves itself.
#[derive(Debug, Clone)]
pub(crate) struct ProofKey {
    text: Secret,
    key: hmac::Key,
}

impl ProofKey {
    /// A new one.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub(crate) fn random() -> Result<Self, StateError> {
        Ok(Self::from(Secret::from(random_hex::<BYTES>()?)))
    }

    /// The key in the encoding of the file.
    pub(crate) fn text(&self) -> &Secret {
        &self.text
    }

    /// The answer to a nonce, for a service that is found at that address.
    pub(crate) fn prove(&self, nonce: &str, address: &str) -> String {
        hex(hmac::sign(&self.key, challenge(nonce, address).as_bytes()).as_ref())
    }

    /// Whether that is the answer to the nonce. The time that the comparison takes does not tell
    /// how much of it was right.
    pub(crate) fn is_proved_by(&self, proof: &str, nonce: &str, address: &str) -> bool {
        unhex(proof).is_some_and(|tag| {
            hmac::verify(&self.key, challenge(nonce, address).as_bytes(), &tag).is_ok()
        })
    }

    /// A text by which the owner can tell whether two secrets are the same, and nothing else.
    pub(crate) fn fingerprint(&self, secret: &Secret) -> String {
        let text = format!("harness fingerprint 1\n{}", secret.expose());
        let mut digits = hex(hmac::sign(&self.key, text.as_bytes()).as_ref());
        digits.truncate(FINGERPRINT_DIGITS);
        digits
    }
}

impl From<Secret> for ProofKey {
    fn from(text: Secret) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, text.expose().as_bytes());
        Self { text, key }
    }
}

/// A nonce for one question.
///
/// # Errors
/// If the system gives no random bytes.
pub(crate) fn nonce() -> Result<String, StateError> {
    random_hex::<BYTES>()
}

/// Whether a text can be a nonce: long enough that no client sends the same twice by accident.
pub(crate) fn is_nonce(text: &str) -> bool {
    NONCE_DIGITS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digits = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spec: [SEC-14]
    #[test]
    fn only_the_key_answers_a_nonce_and_an_answer_is_good_for_one_nonce_and_one_address() {
        let key = ProofKey::random().unwrap();
        let nonce = nonce().unwrap();
        assert!(is_nonce(&nonce));
        let address = "127.0.0.1:8421";
        let proof = key.prove(&nonce, address);
        assert!(key.is_proved_by(&proof, &nonce, address));
        assert!(!key.is_proved_by(&proof, &nonce, "127.0.0.1:8422"));
        assert!(!key.is_proved_by(&proof, &super::nonce().unwrap(), address));
        assert!(!key.is_proved_by(&proof[2..], &nonce, address));
        for wrong in ["", "0", "zz", "ü"] {
            assert!(!key.is_proved_by(wrong, &nonce, address), "{wrong}");
        }
        let other = ProofKey::random().unwrap();
        assert!(!other.is_proved_by(&proof, &nonce, address));
        let same = ProofKey::from(key.text().clone());
        assert!(same.is_proved_by(&proof, &nonce, address));
        assert!(!format!("{key:?}").contains(key.text().expose()));
    }

    /// Spec: [SEC-14]
    #[test]
    fn the_proof_is_the_hmac_that_its_documentation_says() {
        let key = ProofKey::from(Secret::from("k"));
        // python3 -c "import hmac; print(hmac.new(b'k', b'harness service proof 1\nab\n127.0.0.1:1\n', 'sha256').hexdigest())"
        assert_eq!(
            key.prove("ab", "127.0.0.1:1"),
            "ed59970bd80704c6a2c92f619439f14c256a8905941ff691874d18b53752ab74"
        );
    }

    /// Spec: [SEC-14]
    #[test]
    fn a_nonce_has_enough_digits_and_nothing_else() {
        assert!(is_nonce(&"a".repeat(32)) && is_nonce(&"0".repeat(128)));
        for wrong in ["", "ab", &"a".repeat(31), &"a".repeat(129), &"g".repeat(32)] {
            assert!(!is_nonce(wrong), "{wrong}");
        }
    }

    /// Spec: [CLI-91]
    #[test]
    fn fingerprints_tell_secrets_apart_and_do_not_show_them() {
        let key = ProofKey::random().unwrap();
        let (one, two) = (Secret::from("sk-one"), Secret::from("sk-two"));
        assert_eq!(key.fingerprint(&one), key.fingerprint(&one));
        assert_ne!(key.fingerprint(&one), key.fingerprint(&two));
        assert_eq!(key.fingerprint(&one).len(), FINGERPRINT_DIGITS);
    }
}
