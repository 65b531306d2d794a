//! Changes of objects that credentials are read from.

use std::time::Duration;

use super::watch_groups::WATCHED_ALONE_MAX;
use super::*;
use crate::credentials::references::Agreement;
use crate::scalers_builder::{Earlier, ScalersBuilder};
use crate::scalers_cache::ObjectScalers;
use crate::telemetry::Telemetry;

/// The limit of waits, in virtual time.
const DEADLINE: Duration = Duration::from_secs(60);

/// Long enough for every pending change to be processed.
const QUIET: Duration = Duration::from_secs(5);

struct Rig {
    cluster: TestCluster,
    credentials: Arc<Credentials>,
    queue: Arc<WorkQueue<ObjectKey>>,
    builder: ScalersBuilder,
    target: ScaleTarget,
}

impl Rig {
    fn new() -> Self {
        let cluster = TestCluster::new();
        cluster.apply(&format!("{AUTHS}/prom"), from_secret("creds"));
        let (credentials, queue) = credentials(&cluster, Settings::default());
        let credentials = Arc::new(credentials);
        let registry = Registry::new(Default::default(), Connector::tcp(), Arc::new(kedge_scalers::NoCluster));
        let telemetry = Arc::new(Telemetry::new("0"));
        let builder = ScalersBuilder {
            registry,
            telemetry,
            credentials: credentials.clone(),
            queue: queue.clone(),
            leadership: Arc::default(),
            query_limits: Default::default(),
        };
        Self { cluster, credentials, queue, builder, target: target() }
    }

    async fn build(&self, object: &ScaledObject, old: Option<&ObjectScalers>) -> Arc<ObjectScalers> {
        self.builder.build(&object.into(), &self.target, Earlier { scalers: old, hpa: None }).await
    }

    fn changes(&self) -> u64 {
        self.credentials.references.changes(&ObjectKey::scaled_object("shop", "web"))
    }

    /// Waits until the object is enqueued.
    async fn until_enqueued(&self) {
        tokio::time::timeout(DEADLINE, self.queue.next()).await.expect("the object is enqueued");
    }

    async fn assert_quiet(&self, why: &str) {
        assert!(tokio::time::timeout(QUIET, self.queue.next()).await.is_err(), "{why}");
    }

    async fn wait_for(&self, what: &str, is_so: impl Fn(&TestCluster) -> bool) {
        let waiting = async {
            while !is_so(&self.cluster) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let done = tokio::time::timeout(DEADLINE, waiting).await;
        assert!(done.is_ok(), "{what}; watched: {:?}", self.cluster.watched());
    }
}

fn bearer() -> ScaledObject {
    let metadata = json!({ "serverAddress": "http://p", "query": "up", "threshold": "1", "authModes": "bearer" });
    object(metadata, json!({ "name": "prom" }))
}

fn is_built(scalers: &Arc<ObjectScalers>) -> bool {
    scalers.triggers[0].scaler.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_rotated_secret_enqueues_its_users_and_is_used() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("old"));
    let first = rig.build(&bearer(), None).await;
    assert!(is_built(&first));
    rig.assert_quiet("nothing changed").await;
    let before = rig.changes();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("new"));
    rig.until_enqueued().await;
    assert_ne!(rig.changes(), before);
    let second = rig.build(&bearer(), Some(&first)).await;
    assert_eq!(second.triggers[0].credentials.auth.get("bearerToken").unwrap().reveal(), "new");
    rig.assert_quiet("it was read as it is").await;
    assert!(second.refresh_at.is_none(), "the watch agrees");
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_is_repeated() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("old"));
    let first = rig.build(&bearer(), None).await;
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("new"));
    rig.until_enqueued().await;
    let creds = Reference::new(ReferenceKind::Secret, "shop", "creds");
    // As a watch whose event overtakes what reads return.
    rig.credentials.references.record_version(&creds, Some("later".to_owned()));
    let second = rig.build(&bearer(), Some(&first)).await;
    assert!(second.refresh_at.is_some(), "no further event will tell");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_trigger_does_not_need_may_be_absent_and_is_used_once_it_exists() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("old"));
    let shared = json!([
        { "parameter": "bearerToken", "name": "creds", "key": "token" },
        { "parameter": "ca", "name": "creds", "key": "ca.crt" },
    ]);
    rig.cluster.apply(&format!("{AUTHS}/prom"), auth(json!({ "secretTargetRef": shared })));
    let first = rig.build(&bearer(), None).await;
    assert!(is_built(&first));
    let absent: Vec<String> = first.triggers[0].credentials.absent.iter().map(ToString::to_string).collect();
    assert_eq!(absent.len(), 1, "{absent:?}");
    assert!(absent[0].starts_with("Secret shop/creds has no key \"ca.crt\""), "{absent:?}");
    let mut whole = secret("old");
    whole["data"]["ca.crt"] = json!("bm90IGEgY2VydGlmaWNhdGU=");
    rig.cluster.apply(&format!("{SECRETS}/creds"), whole);
    rig.until_enqueued().await;
    let second = rig.build(&bearer(), Some(&first)).await;
    assert!(second.triggers[0].credentials.absent.is_empty());
    assert!(second.triggers[0].scaler.is_err(), "it is used, and no certificate");
}

#[tokio::test(start_paused = true)]
async fn a_missing_secret_is_reported_and_its_creation_is_noticed() {
    let rig = Rig::new();
    let scalers = rig.build(&bearer(), None).await;
    let problem = scalers.triggers[0].scaler.as_ref().unwrap_err();
    let problem = problem.to_string();
    assert!(problem.starts_with("trigger 0 (prometheus): Secret shop/creds does not exist"), "{problem}");
    assert_eq!(scalers.refresh_at, None, "waiting for it costs nothing");
    rig.assert_quiet("it is still missing").await;
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("new"));
    rig.until_enqueued().await;
    assert!(is_built(&rig.build(&bearer(), Some(&scalers)).await));
}

#[tokio::test(start_paused = true)]
async fn a_changed_and_a_deleted_authentication_object_are_noticed_but_not_its_status() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("a"));
    rig.cluster.apply(&format!("{SECRETS}/other"), secret("b"));
    let scalers = rig.build(&bearer(), None).await;
    rig.assert_quiet("nothing changed").await;
    let mut with_status = from_secret("creds");
    with_status["status"] = json!({ "scaledobjects": "web" });
    rig.cluster.apply(&format!("{AUTHS}/prom"), with_status);
    rig.assert_quiet("only the status changed").await;
    rig.cluster.apply(&format!("{AUTHS}/prom"), from_secret("other"));
    rig.until_enqueued().await;
    let scalers = rig.build(&bearer(), Some(&scalers)).await;
    assert_eq!(scalers.triggers[0].credentials.auth.get("bearerToken").unwrap().reveal(), "b");
    rig.wait_for("the other Secret is watched instead", |cluster| {
        let watched = cluster.watched();
        watched.contains(&format!("{SECRETS}?other")) && !watched.contains(&format!("{SECRETS}?creds"))
    })
    .await;
    rig.cluster.delete(&format!("{AUTHS}/prom"));
    rig.until_enqueued().await;
    assert!(!is_built(&rig.build(&bearer(), Some(&scalers)).await));
}

#[tokio::test(start_paused = true)]
async fn a_trigger_whose_credentials_are_unchanged_is_not_rebuilt() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("a"));
    let first = rig.build(&bearer(), None).await;
    let mut touched = secret("a");
    touched["metadata"] = json!({ "labels": { "touched": "yes" } });
    rig.cluster.apply(&format!("{SECRETS}/creds"), touched);
    let second = rig.build(&bearer(), Some(&first)).await;
    assert!(Arc::ptr_eq(&first.triggers[0], &second.triggers[0]));
}

#[tokio::test(start_paused = true)]
async fn a_working_trigger_outlives_an_api_server_that_fails() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("a"));
    let first = rig.build(&bearer(), None).await;
    rig.cluster.break_path(&format!("{SECRETS}/creds"), 503);
    let second = rig.build(&bearer(), Some(&first)).await;
    assert!(Arc::ptr_eq(&first.triggers[0], &second.triggers[0]));
    assert!(second.refresh_at.is_some(), "it is tried again");
    let fresh = rig.build(&bearer(), None).await;
    assert!(!is_built(&fresh) && fresh.refresh_at.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_change_between_the_read_and_its_registration_is_not_lost() {
    let rig = Rig::new();
    let references = &rig.credentials.references;
    let (key, other) = (ObjectKey::scaled_object("shop", "web"), ObjectKey::scaled_object("shop", "other"));
    let creds = Reference::new(ReferenceKind::Secret, "shop", "creds");
    let read = |version: &str| [(creds.clone(), Some(version.to_owned()))].into_iter().collect();
    let set = |key, began, version| references.set(key, began, read(version));
    assert_eq!(set(&other, references.now(), "v1"), Agreement::Agrees, "no watch has reported anything");
    let began = references.now();
    references.record_version(&creds, Some("v2".to_owned()));
    assert_eq!(rig.queue.next().await, other);
    assert_eq!(set(&key, began, "v1"), Agreement::InDoubt);
    assert_eq!(rig.queue.next().await, key, "it read v1, and the watch has delivered v2 since");
    assert_eq!(set(&key, references.now(), "v3"), Agreement::InDoubt, "the watch is behind, or the read is");
    assert!(tokio::time::timeout(Duration::ZERO, rig.queue.next()).await.is_err(), "nothing happened since");
    references.record_version(&creds, Some("v3".to_owned()));
    assert_eq!(set(&key, references.now(), "v3"), Agreement::Agrees);
}

#[tokio::test(start_paused = true)]
async fn the_watch_of_a_secret_begins_with_its_first_user_and_ends_with_its_last() {
    let rig = Rig::new();
    rig.cluster.apply(&format!("{SECRETS}/creds"), secret("a"));
    rig.cluster.apply(&format!("{SECRETS}/unused"), secret("b"));
    rig.build(&bearer(), None).await;
    let narrow = format!("{SECRETS}?creds");
    rig.wait_for("watched", |cluster| cluster.watched().contains(&narrow)).await;
    let secrets: Vec<String> = rig.cluster.watched().into_iter().filter(|what| what.contains("secrets")).collect();
    assert_eq!(secrets, std::slice::from_ref(&narrow), "by name, and nothing beside it");
    rig.credentials.references.forget(&ObjectKey::scaled_object("shop", "web"));
    rig.wait_for("not watched any more", |cluster| !cluster.watched().contains(&narrow)).await;
}

/// An object whose triggers use one Secret each, `creds-0` and so on.
fn with_secrets(rig: &Rig, count: usize) -> ScaledObject {
    let mut object = bearer();
    let trigger = object.spec.triggers.remove(0);
    for at in 0..count {
        rig.cluster.apply(&format!("{SECRETS}/creds-{at}"), secret("a"));
        rig.cluster.apply(&format!("{AUTHS}/auth-{at}"), from_secret(&format!("creds-{at}")));
        let mut trigger = trigger.clone();
        trigger.authentication_ref.as_mut().unwrap().name = format!("auth-{at}");
        object.spec.triggers.push(trigger);
    }
    object
}

fn watched_secrets(cluster: &TestCluster) -> Vec<String> {
    cluster.watched().into_iter().filter(|what| what.contains("secrets")).collect()
}

#[tokio::test(start_paused = true)]
async fn many_secrets_of_a_namespace_share_one_watch() {
    let rig = Rig::new();
    let object = with_secrets(&rig, WATCHED_ALONE_MAX);
    rig.build(&object, None).await;
    rig.wait_for("each is watched", |cluster| watched_secrets(cluster).len() == WATCHED_ALONE_MAX).await;

    let object = with_secrets(&rig, 40);
    let scalers = rig.build(&object, None).await;
    let whole = [format!("{SECRETS}?")];
    rig.wait_for("the namespace is watched instead", |cluster| watched_secrets(cluster) == whole).await;
    while tokio::time::timeout(QUIET, rig.queue.next()).await.is_ok() {}
    let before = rig.changes();
    rig.cluster.apply(&format!("{SECRETS}/unused"), secret("b"));
    rig.assert_quiet("it is not used").await;
    rig.cluster.apply(&format!("{SECRETS}/creds-39"), secret("new"));
    rig.until_enqueued().await;
    assert_ne!(rig.changes(), before);
    let scalers = rig.build(&object, Some(&scalers)).await;
    assert_eq!(scalers.triggers[39].credentials.auth.get("bearerToken").unwrap().reveal(), "new");
    rig.assert_quiet("it was read as it is").await;
    rig.cluster.delete(&format!("{SECRETS}/creds-2"));
    rig.until_enqueued().await;

    rig.credentials.references.forget(&ObjectKey::scaled_object("shop", "web"));
    rig.wait_for("not watched any more", |cluster| watched_secrets(cluster).is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn secrets_are_watched_one_by_one_where_their_namespace_may_not_be_listed() {
    let rig = Rig::new();
    rig.cluster.break_path(&format!("{SECRETS}?"), 403);
    let object = with_secrets(&rig, 6);
    rig.build(&object, None).await;
    rig.wait_for("each is watched", |cluster| watched_secrets(cluster).len() == 6).await;
    rig.build(&with_secrets(&rig, 7), None).await;
    rig.wait_for("also a later one", |cluster| watched_secrets(cluster).len() == 7).await;
    while tokio::time::timeout(QUIET, rig.queue.next()).await.is_ok() {}
    rig.cluster.apply(&format!("{SECRETS}/creds-6"), secret("new"));
    rig.until_enqueued().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_between_the_read_and_its_registration_is_not_trusted() {
    let rig = Rig::new();
    rig.build(&with_secrets(&rig, 6), None).await;
    rig.wait_for("watched", |cluster| watched_secrets(cluster) == [format!("{SECRETS}?")]).await;
    while tokio::time::timeout(QUIET, rig.queue.next()).await.is_ok() {}
    let references = &rig.credentials.references;
    let late = Reference::new(ReferenceKind::Secret, "shop", "late");
    let key = ObjectKey::scaled_object("shop", "late");
    let began = references.now();
    // The namespace is listed again within this time.
    tokio::time::sleep(Duration::from_secs(600)).await;
    let _ = references.set(&key, began, [(late, Some("old".to_owned()))].into_iter().collect());
    assert_eq!(rig.queue.next().await, key, "the list may have had another version");
}
