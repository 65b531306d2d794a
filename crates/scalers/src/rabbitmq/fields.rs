//! The descriptions of the parameters of a `rabbitmq` trigger.

use crate::field::{Field, Source};

const M_A: &[Source] = &[Source::Metadata, Source::Authentication];
const M_A_E: &[Source] = &[Source::Metadata, Source::Authentication, Source::Environment];
const A_E: &[Source] = &[Source::Authentication, Source::Environment];

pub(super) const QUEUE_NAME: Field =
    Field::required("queueName").help("The queue; with `useRegex` a regular expression");
pub(super) const MODE: Field = Field::optional("mode").required_if("`value` is given").help(
    "By what to scale: `QueueLength`, `MessageRate`, `DeliverGetRate`, `PublishedToDeliveredRatio` or `ExpectedQueueConsumptionTime`. All but `QueueLength` need the management API",
);
pub(super) const VALUE: Field = Field::optional("value")
    .required_if("`mode` is given")
    .help("The value for one replica; without `mode`, 20 messages");
pub(super) const QUEUE_LENGTH: Field =
    Field::optional("queueLength").help("The old way to write `mode: QueueLength` with a `value`; not beside these");
pub(super) const ACTIVATION_VALUE: Field =
    Field::optional("activationValue").default("0").help("The trigger is active while the value is above this");
pub(super) const USE_REGEX: Field = Field::optional("useRegex")
    .default("false")
    .help("`true`: all queues of the vhost whose names match `queueName`. Needs the management API");
pub(super) const OPERATION: Field = Field::optional("operation")
    .default("sum")
    .help("With `useRegex`, what is made of the numbers of several queues: `sum`, `avg` or `max`");
pub(super) const PAGE_SIZE: Field =
    Field::optional("pageSize").default("100").help("With `useRegex`, how many queues may match; more are an error");
pub(super) const EXCLUDE_UNACKNOWLEDGED: Field = Field::optional("excludeUnacknowledged")
    .default("false")
    .help("`true`: only messages that are ready count. Needs the management API; over AMQP it is always so");

pub(super) const HOST: Field = Field::required("host").sources(M_A_E).url().may_contain_secret().help(
    "The URL of the broker, `amqp://` or `amqps://`, or of its management API, `http://` or `https://`; its path ends with the vhost",
);
pub(super) const PROTOCOL: Field =
    Field::optional("protocol").sources(M_A).default("auto").help("`amqp`, `http`, or `auto`: by the scheme of `host`");
pub(super) const VHOST_NAME: Field =
    Field::optional("vhostName").sources(M_A).default_of("that in `host`").help("The vhost");
pub(super) const TIMEOUT: Field = Field::optional("timeout")
    .default_of("the operator's `KEDA_HTTP_DEFAULT_TIMEOUT`")
    .help("The limit of one request to the management API");

pub(super) const USERNAME: Field = Field::optional("username")
    .sources(A_E)
    .required_if("`password` is given")
    .help("The user, in place of that in `host`");
pub(super) const PASSWORD: Field =
    Field::secret("password").sources(A_E).required_if("`username` is given").help("The password of this user");
pub(super) const WORKLOAD_IDENTITY_RESOURCE: Field = Field::authentication("workloadIdentityResource")
    .help("The resource for which pod identity `azure-workload` gives tokens. Needs the management API");
pub(super) const TLS: Field = Field::authentication("tls").default("disable").help(
    "`enable`: `ca`, `cert` and `key` count, where `host` begins with `https://` or `amqps://`, which use TLS in any case",
);
pub(super) const UNSAFE_SSL: Field =
    Field::optional("unsafeSsl").default("false").help("`true`: accepts any certificate of the server");
pub(super) const CA: Field =
    Field::authentication("ca").help("A CA that is trusted in addition to those of the system, as PEM");
pub(super) const CERT: Field =
    Field::authentication("cert").required_if("`key` is given").help("The client certificate, as PEM");
pub(super) const KEY: Field =
    Field::secret("key").required_if("`cert` is given").help("The key of the client certificate, as PEM");
pub(super) const KEY_PASSWORD: Field = Field::secret("keyPassword")
    .ignored()
    .help("The password of an encrypted key; Kedge needs a key that is not encrypted");

pub(super) const QUEUE: &[Field] =
    &[QUEUE_NAME, MODE, VALUE, QUEUE_LENGTH, ACTIVATION_VALUE, USE_REGEX, OPERATION, PAGE_SIZE, EXCLUDE_UNACKNOWLEDGED];
pub(super) const SERVER: &[Field] = &[HOST, PROTOCOL, VHOST_NAME, TIMEOUT];
pub(super) const SIGN_IN: &[Field] =
    &[USERNAME, PASSWORD, WORKLOAD_IDENTITY_RESOURCE, TLS, UNSAFE_SSL, CA, CERT, KEY, KEY_PASSWORD];
