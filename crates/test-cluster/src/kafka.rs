//! A real Kafka broker, with listeners for anyone, for users, and for certificates. `client` fills its topics.

mod client;

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, ensure};
use kedge_wire::kafka::messages::Metadata;

pub use self::client::KafkaClient;
use crate::ports::Port;
use crate::process::Group;
use crate::state::StateFolder;
use crate::tools::maven::JavaProgram;
use crate::wait::{DEADLINE, wait_for};

const COORDINATES: &str = "org.apache.kafka:kafka_2.13:4.3.1";

/// May do everything, with PLAIN, SCRAM, OAUTHBEARER, or without signing in.
pub const USER: &str = "worker";
pub const PASSWORD: &str = "w0rker";

/// A user who may do everything once a password is set.
pub const ROTATED_USER: &str = "rotated";

/// May sign in with PLAIN, and do nothing.
pub const STRANGER: &str = "stranger";
pub const STRANGER_PASSWORD: &str = "str4nger";

/// A running broker. It ends when this value is dropped, and when this process ends in any way.
#[derive(Debug)]
pub struct KafkaServer {
    group: Group,
    java: JavaProgram,
    plain: Port,
    /// Where clients of `plain` are sent to, unless that is its own port.
    relay: Option<u16>,
    sasl: Port,
    tls: Port,
    _controller: Port,
    /// The certificate of the broker, which is its own CA; and that of a client, with its key.
    pub certificate: String,
    pub client_certificate: String,
    pub client_key: String,
    _lock: File,
}

impl KafkaServer {
    /// Starts a broker without topics, and returns when it answers. The name is as a cluster's: two that run at once need two.
    pub async fn start(name: &str) -> anyhow::Result<Self> {
        Self::start_advertised(name, None).await
    }

    /// Starts a broker that sends its clients to this port of this machine, where a relay is to listen.
    pub async fn start_behind(name: &str, relay: u16) -> anyhow::Result<Self> {
        Self::start_advertised(name, Some(relay)).await
    }

    async fn start_advertised(name: &str, relay: Option<u16>) -> anyhow::Result<Self> {
        let java = tokio::task::spawn_blocking(|| JavaProgram::find(COORDINATES)).await??;
        let state = StateFolder::for_cluster(name)?;
        let lock = state.take()?;
        let [plain, sasl, tls, controller] = [Port::reserve()?, Port::reserve()?, Port::reserve()?, Port::reserve()?];
        let broker = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let client = rcgen::generate_simple_self_signed(["client".to_owned()])?;
        let mut server = Self {
            group: Group::start(state.path())?,
            java,
            plain,
            relay,
            sasl,
            tls,
            _controller: controller,
            certificate: broker.cert.pem(),
            client_certificate: client.cert.pem(),
            client_key: client.signing_key.serialize_pem(),
            _lock: lock,
        };
        let folder = state.path();
        fs::write(folder.join("broker.pem"), broker.signing_key.serialize_pem() + &server.certificate)?;
        fs::write(folder.join("clients.pem"), &server.client_certificate)?;
        let properties = folder.join("server.properties");
        fs::write(&properties, server.properties(&folder.display().to_string()))
            .with_context(|| format!("cannot write {}", properties.display()))?;
        server.format(&properties).await?;
        let (program, mut arguments) = server.java.command("kafka.Kafka");
        arguments.push(properties.into());
        server.group.spawn("kafka", &program, arguments)?;
        server.until_it_answers().await?;
        Ok(server)
    }

    /// Writes the first metadata, with the users of SCRAM.
    async fn format(&self, properties: &Path) -> anyhow::Result<()> {
        let (java, properties) = (self.java.clone(), properties.display().to_string());
        let user = |hash: &str| format!("SCRAM-SHA-{hash}=[name={USER},password={PASSWORD}]");
        tokio::task::spawn_blocking(move || {
            let (first, second) = (user("256"), user("512"));
            let users = ["--add-scram", &first, "--add-scram", &second];
            let format = ["format", "-t", "kedgekedgekedgekedgekg", "-c", &properties];
            java.run("kafka.tools.StorageTool", &[&format[..], &users].concat())
        })
        .await?
    }

    fn properties(&self, folder: &str) -> String {
        let at = |name: &str, port: u16| format!("{name}://127.0.0.1:{port}");
        let others = [at("SASL", self.sasl.number), at("TLS", self.tls.number)].join(",");
        let advertised = format!("{},{others}", at("PLAIN", self.relay.unwrap_or(self.plain.number)));
        let listeners = [at("PLAIN", self.plain.number), others, at("CONTROLLER", self._controller.number)].join(",");
        let security = "org.apache.kafka.common.security";
        [
            "process.roles=broker,controller".to_owned(),
            "node.id=1".to_owned(),
            format!("controller.quorum.voters=1@127.0.0.1:{}", self._controller.number),
            format!("listeners={listeners}"),
            format!("advertised.listeners={advertised}"),
            "listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:PLAINTEXT".to_owned(),
            "controller.listener.names=CONTROLLER".to_owned(),
            "inter.broker.listener.name=PLAIN".to_owned(),
            format!("log.dirs={folder}/data"),
            "auto.create.topics.enable=false".to_owned(),
            // Messages of `client` are from 1970: the broker would delete them half a minute after its start.
            "log.retention.ms=-1".to_owned(),
            "offsets.topic.replication.factor=1".to_owned(),
            "offsets.topic.num.partitions=1".to_owned(),
            "transaction.state.log.replication.factor=1".to_owned(),
            "transaction.state.log.min.isr=1".to_owned(),
            "group.initial.rebalance.delay.ms=0".to_owned(),
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer".to_owned(),
            format!("super.users=User:ANONYMOUS;User:{USER};User:{ROTATED_USER};User:CN=rcgen self signed cert"),
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER".to_owned(),
            format!("listener.name.sasl.plain.sasl.jaas.config={security}.plain.PlainLoginModule required user_{USER}=\"{PASSWORD}\" user_{STRANGER}=\"{STRANGER_PASSWORD}\";"),
            format!("listener.name.sasl.scram-sha-256.sasl.jaas.config={security}.scram.ScramLoginModule required;"),
            format!("listener.name.sasl.scram-sha-512.sasl.jaas.config={security}.scram.ScramLoginModule required;"),
            // Tokens need no signature.
            format!("listener.name.sasl.oauthbearer.sasl.jaas.config={security}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";"),
            "ssl.client.auth=required".to_owned(),
            "ssl.keystore.type=PEM".to_owned(),
            format!("ssl.keystore.location={folder}/broker.pem"),
            "ssl.truststore.type=PEM".to_owned(),
            format!("ssl.truststore.location={folder}/clients.pem\n"),
        ]
        .join("\n")
    }

    async fn until_it_answers(&mut self) -> anyhow::Result<()> {
        let port = self.plain.number;
        wait_for("kafka answers", DEADLINE, async || match self.group.check() {
            Err(died) => Ok(Err(died)),
            Ok(()) => match is_ready(port) {
                Ok(()) => Ok(Ok(())),
                Err(error) => Err(format!("{error:#}")),
            },
        })
        .await?
    }

    /// Where anyone may do everything.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// The port of `address`, without a relay.
    pub fn port(&self) -> u16 {
        self.plain.number
    }

    /// Where users sign in.
    pub fn sasl_address(&self) -> String {
        format!("127.0.0.1:{}", self.sasl.number)
    }

    /// Where clients show a certificate.
    pub fn tls_address(&self) -> String {
        format!("127.0.0.1:{}", self.tls.number)
    }

    /// A connection to where anyone may do everything.
    pub fn client(&self) -> anyhow::Result<KafkaClient> {
        KafkaClient::connect(self.plain.number)
    }

    /// Gives a user another password for SCRAM-SHA-256, or the first one.
    pub async fn set_password(&self, user: &'static str, password: &str) -> anyhow::Result<()> {
        let (java, address) = (self.java.clone(), self.address());
        let config = format!("SCRAM-SHA-256=[password={password}]");
        tokio::task::spawn_blocking(move || {
            let change = ["--entity-type", "users", "--entity-name", user, "--alter", "--add-config", &config];
            java.run("kafka.admin.ConfigCommand", &[&["--bootstrap-server", &address][..], &change].concat())
        })
        .await?
    }

    /// Kills the broker (-9).
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.group.kill("kafka")
    }

    /// Starts the killed broker with its data, and returns when it answers.
    pub async fn start_again(&mut self) -> anyhow::Result<()> {
        self.group.start_again()?;
        self.until_it_answers().await
    }
}

fn is_ready(port: u16) -> anyhow::Result<()> {
    let mut client = KafkaClient::connect(port)?;
    let answer = client.ask(&Metadata { topics: Some(Vec::new()), creates_topics: false })?;
    ensure!(!answer.brokers.is_empty(), "it knows no brokers yet");
    Ok(())
}
