//! The description of one parameter: its names, where it may come from, and what it is for. Scalers read their parameters
//! with the same constants that their descriptor lists.

/// What follows the name of a parameter in `metadata` where its value is that of a variable of the target's container.
pub const FROM_ENV: &str = "FromEnv";

/// Where the value of a parameter may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `triggers[].metadata.<name>`
    Metadata,
    /// The parameters of a TriggerAuthentication.
    Authentication,
    /// The variable of the target's container that `triggers[].metadata.<name>FromEnv` names.
    Environment,
}

/// Parameters that belong together.
#[derive(Clone, Copy, Debug)]
pub struct FieldGroup {
    pub title: &'static str,
    pub fields: &'static [Field],
}

/// A parameter of a trigger type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    /// Other names, which count where the proper one is absent.
    pub aliases: &'static [&'static str],
    /// In the order in which they are tried.
    pub sources: &'static [Source],
    pub presence: Presence,
    pub sensitivity: Sensitivity,
    pub content: Content,
    pub status: Status,
    pub help: &'static str,
}

/// Whether a parameter must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Required,
    /// Required under a condition: the words after "required if".
    RequiredIf(&'static str),
    Optional,
    /// Optional, with this value where it is absent.
    Default(&'static str),
    /// Optional; the default is defined elsewhere: a noun phrase.
    DefaultOf(&'static str),
}

/// Whether a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    Public,
    /// The value may contain a credential: no message repeats it.
    MayContainSecret,
    /// The value is a credential.
    Secret,
}

/// What the text of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Text,
    /// The URL to which requests are sent, with the credentials of the trigger.
    Url,
}

/// Whether the parameter has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    InUse,
    /// Accepted for the sake of KEDA's manifests, and not read.
    Ignored,
    /// No longer accepted, for this reason.
    Removed(&'static str),
}

const METADATA: &[Source] = &[Source::Metadata];
const AUTHENTICATION: &[Source] = &[Source::Authentication];

impl Field {
    const fn new(name: &'static str, sources: &'static [Source], presence: Presence) -> Self {
        Self {
            name,
            aliases: &[],
            sources,
            presence,
            sensitivity: Sensitivity::Public,
            content: Content::Text,
            status: Status::InUse,
            help: "",
        }
    }

    /// A parameter of `metadata` that must be given.
    pub const fn required(name: &'static str) -> Self {
        Self::new(name, METADATA, Presence::Required)
    }

    /// A parameter of `metadata` that can be left out.
    pub const fn optional(name: &'static str) -> Self {
        Self::new(name, METADATA, Presence::Optional)
    }

    /// A credential of a TriggerAuthentication.
    pub const fn secret(name: &'static str) -> Self {
        Self::authentication(name).is_secret()
    }

    /// A parameter of a TriggerAuthentication that is no credential.
    pub const fn authentication(name: &'static str) -> Self {
        Self::new(name, AUTHENTICATION, Presence::Optional)
    }

    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub const fn sources(mut self, sources: &'static [Source]) -> Self {
        self.sources = sources;
        self
    }

    pub const fn default(mut self, value: &'static str) -> Self {
        self.presence = Presence::Default(value);
        self
    }

    pub const fn default_of(mut self, what: &'static str) -> Self {
        self.presence = Presence::DefaultOf(what);
        self
    }

    pub const fn required_if(mut self, condition: &'static str) -> Self {
        self.presence = Presence::RequiredIf(condition);
        self
    }

    pub const fn is_secret(mut self) -> Self {
        self.sensitivity = Sensitivity::Secret;
        self
    }

    pub const fn may_contain_secret(mut self) -> Self {
        self.sensitivity = Sensitivity::MayContainSecret;
        self
    }

    pub const fn url(mut self) -> Self {
        self.content = Content::Url;
        self
    }

    pub const fn ignored(mut self) -> Self {
        self.status = Status::Ignored;
        self
    }

    pub const fn removed(mut self, reason: &'static str) -> Self {
        self.status = Status::Removed(reason);
        self
    }

    pub const fn help(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }

    /// The proper name, then the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }

    /// Whether `metadata` can have it, with or without `FromEnv`.
    pub fn is_in_metadata(&self) -> bool {
        self.sources.iter().any(|source| *source != Source::Authentication)
    }
}

impl Source {
    /// This source, and no other.
    pub(crate) fn alone(self) -> &'static [Self] {
        match self {
            Self::Metadata => &[Self::Metadata],
            Self::Authentication => &[Self::Authentication],
            Self::Environment => &[Self::Environment],
        }
    }

    /// The source as part of a sentence.
    pub fn place(self) -> &'static str {
        match self {
            Self::Metadata => "the trigger's metadata",
            Self::Authentication => "its TriggerAuthentication",
            Self::Environment => "a variable named by the parameter with FromEnv",
        }
    }
}
