//! What sets one MySQL session apart from another: server, user, database, and how the connection is made.

use kedge_core::secret::Secret;

use crate::host_port::HostPort;
use crate::http::Verification;

/// What sets a session apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MysqlPeer {
    pub(crate) server: HostPort,
    pub(crate) username: String,
    /// Empty for none.
    pub(crate) password: Secret,
    /// Empty for none.
    pub(crate) database: String,
    pub(crate) options: MysqlOptions,
}

/// How a connection is made, beyond who signs in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MysqlOptions {
    pub(crate) tls: Option<MysqlTls>,
    pub(crate) clear_password: bool,
    pub(crate) native_password: bool,
    pub(crate) multi_statements: bool,
    /// The character sets to try, in turn; the first that the server knows is used.
    pub(crate) character_sets: Vec<String>,
    pub(crate) collation: Option<String>,
    /// System variables and their values, as SQL.
    pub(crate) variables: Vec<(String, String)>,
}

/// A connection with TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MysqlTls {
    pub(crate) verification: Verification,
    /// Whether a server that has no TLS is asked without.
    pub(crate) falls_back: bool,
}

impl Default for MysqlOptions {
    fn default() -> Self {
        Self {
            tls: None,
            clear_password: false,
            native_password: true,
            multi_statements: false,
            character_sets: Vec::new(),
            collation: None,
            variables: Vec::new(),
        }
    }
}

impl MysqlOptions {
    /// What is run after signing in: alternatives, of which one must succeed.
    pub(super) fn statements(&self) -> Vec<Vec<String>> {
        let collate = self.collation.iter().map(|collation| format!(" COLLATE {collation}")).collect::<String>();
        let mut character_sets = self.character_sets.clone();
        if let (true, Some(collation)) = (character_sets.is_empty(), &self.collation) {
            // The name of a collation begins with that of its character set.
            character_sets.extend(collation.split('_').next().map(str::to_owned));
        }
        let names: Vec<_> = character_sets.iter().map(|name| format!("SET NAMES {name}{collate}")).collect();
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let set = (!variables.is_empty()).then(|| vec![format!("SET {}", variables.join(", "))]);
        [names].into_iter().chain(set).filter(|alternatives| !alternatives.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_run_after_signing_in() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<String>>();
        let statements = |names: &[&str], collation: Option<&str>, variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            let collation = collation.map(str::to_owned);
            MysqlOptions { character_sets: texts(names), collation, variables, ..MysqlOptions::default() }.statements()
        };
        let none: Vec<Vec<String>> = Vec::new();
        assert_eq!(statements(&[], None, &[]), none);
        assert_eq!(statements(&["utf8mb4", "utf8"], None, &[]), [["SET NAMES utf8mb4", "SET NAMES utf8"]]);
        assert_eq!(statements(&[], Some("latin1_bin"), &[]), [["SET NAMES latin1 COLLATE latin1_bin"]]);
        assert_eq!(
            statements(&["utf8mb4"], Some("utf8mb4_bin"), &[("sql_mode", "''"), ("max_statement_time", "2")]),
            [["SET NAMES utf8mb4 COLLATE utf8mb4_bin"], ["SET sql_mode = '', max_statement_time = 2"]]
        );
    }
}
