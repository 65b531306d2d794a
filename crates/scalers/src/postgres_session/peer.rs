//! What sets the connections of triggers apart.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kedge_core::secret::Secret;

use crate::host_port::HostPort;
use crate::http::Verification;
use crate::identity::CloudIdentity;

/// What sets a session apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PostgresPeer {
    pub(crate) server: HostPort,
    pub(crate) encryption: Encryption,
    pub(crate) wanted: WantedServer,
    pub(crate) login: Arc<Login>,
    /// Queries are the users' own, and may be slow: no namespace waits for another.
    pub(crate) namespace: String,
}

/// Who signs in, to which database, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) database: Option<String>,
    pub(crate) password: Password,
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) tls: TlsRules,
    pub(crate) connect_limit: Option<Duration>,
}

/// Where the password comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Password {
    None,
    Given(Secret),
    /// A token of the identity, for each connection.
    Token(CloudIdentity),
}

/// How one connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encryption {
    None,
    /// Where the server has it.
    IfOffered,
    Always,
}

/// How the certificate of a server is verified.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TlsRules {
    pub(crate) verification: Verification,
    /// A file of the operator with the only CAs that are trusted.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Which of several servers will do: `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WantedServer {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}
