//! Bearer tokens that the plane issued.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

use ring::rand::{SecureRandom, SystemRandom};

use crate::api::identity::Identity;

/// The issued tokens and their users. Clones share them.
#[derive(Clone, Default)]
pub struct Tokens {
    holders: Arc<Mutex<BTreeMap<String, Identity>>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

impl Tokens {
    /// A new token of this user's.
    pub fn issue(&self, user: &str) -> String {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).expect("the kernel has randomness");
        let mut token = String::from("plane.");
        bytes.iter().for_each(|byte| write!(token, "{byte:02x}").expect("text grows"));
        self.holders().insert(token.clone(), Identity::named(user));
        token
    }

    /// Whose token it is.
    pub fn holder(&self, token: &str) -> Option<Identity> {
        self.holders().get(token).cloned()
    }

    fn holders(&self) -> MutexGuard<'_, BTreeMap<String, Identity>> {
        self.holders.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_its_holders_and_no_other_is() {
        let tokens = Tokens::default();
        let (one, other) = (tokens.issue("system:serviceaccount:kedge:a"), tokens.issue("anna"));
        assert_ne!(one, other);
        let groups = ["system:serviceaccounts", "system:serviceaccounts:kedge", "system:authenticated"];
        let account =
            Identity { name: "system:serviceaccount:kedge:a".to_owned(), groups: groups.map(str::to_owned).to_vec() };
        assert_eq!(tokens.holder(&one), Some(account));
        assert_eq!(tokens.holder(&other), Some(Identity::named("anna")));
        assert_eq!(tokens.holder("plane.00"), None);
    }
}
