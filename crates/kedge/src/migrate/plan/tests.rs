//! The plan of a migration, step by step and after interruptions.

use super::*;

fn owner(release: &str) -> Owner {
    Owner { release: release.to_owned(), namespace: release.to_owned() }
}

fn live(object: Object, of: Option<&str>) -> LiveObject {
    LiveObject {
        object,
        owner: of.map(owner),
        managed_by: of.map(|_| HELM.to_owned()),
        policy: None,
        part_of: vec!["keda-operator".to_owned()],
        service: None,
    }
}

fn service(namespace: &str) -> Service {
    Service { namespace: namespace.to_owned(), name: "metrics".to_owned() }
}

/// Everything, as KEDA's chart leaves it.
fn installed() -> Vec<LiveObject> {
    shared().into_iter().chain(keda_only()).map(|object| live(object, Some("keda"))).collect()
}

/// What a change leaves behind.
fn apply(live: &mut [LiveObject], change: &Change) {
    let mut with = |object: &Object, then: &dyn Fn(&mut LiveObject)| {
        live.iter_mut().filter(|live| live.object == *object).for_each(then);
    };
    match change {
        Change::KeepInRelease { .. } => {}
        Change::Protect(object) => with(object, &|live| live.policy = Some(KEEP.to_owned())),
        Change::HandOver { object, to, .. } => with(object, &|live| {
            live.owner = Some(to.clone());
            live.managed_by = Some(HELM.to_owned());
        }),
        Change::Repoint { object, service } => with(object, &|live| live.service = Some(service.clone())),
    }
}

/// The remaining changes, without those of releases, which are checked each time.
fn writes(live: &[LiveObject], to: &Owner) -> Vec<Change> {
    let mut changes = plan(live, to, None);
    changes.retain(|change| !matches!(change, Change::KeepInRelease { .. }));
    changes
}

#[test]
fn releases_are_changed_before_anything_changes_hands() {
    let changes = plan(&installed(), &owner("kedge"), None);
    let rank = |change: &Change| match change {
        Change::KeepInRelease { .. } => 0,
        Change::Protect(_) => 1,
        Change::HandOver { .. } => 2,
        Change::Repoint { .. } => 3,
    };
    assert!(changes.is_sorted_by_key(rank), "{changes:?}");
    let all: Vec<Object> = shared().into_iter().chain(keda_only()).collect();
    assert_eq!(changes[0], Change::KeepInRelease { owner: owner("keda"), objects: all });
    assert_eq!(changes.len(), 1 + 8 + 6);
}

#[test]
fn what_kedge_lacks_is_protected_and_stays_with_keda() {
    let changes = plan(&installed(), &owner("kedge"), None);
    for object in keda_only() {
        assert!(changes.contains(&Change::Protect(object.clone())));
        assert!(
            !changes.iter().any(|change| matches!(change, Change::HandOver { object: given, .. } if *given == object))
        );
    }
}

#[test]
fn interrupted_anywhere_the_next_run_does_the_rest() {
    let to = owner("kedge");
    let all = plan(&installed(), &to, None);
    for done in 0..=all.len() {
        let mut live = installed();
        all[..done].iter().for_each(|change| apply(&mut live, change));
        let rest = plan(&live, &to, None);
        let releases = rest.iter().any(|change| matches!(change, Change::KeepInRelease { owner, objects } if owner.release == "keda" && objects.len() == 8));
        assert!(releases, "after {done} KEDA's release is still checked");
        rest.iter().for_each(|change| apply(&mut live, change));
        assert_eq!(writes(&live, &to), [], "after {done}");
    }
}

#[test]
fn the_way_back_is_the_same_way() {
    let mut state = installed();
    for to in ["kedge", "keda"] {
        let changes = plan(&state, &owner(to), None);
        changes.iter().for_each(|change| apply(&mut state, change));
        let given = state.iter().filter(|live| live.belongs_to(&owner(to))).count();
        assert!(given >= 6, "{to}");
    }
    assert!(state.iter().all(|live| live.belongs_to(&owner("keda"))));
}

#[test]
fn a_release_that_takes_over_itself_keeps_its_crds_only() {
    let changes = plan(&installed(), &owner("keda"), None);
    let Change::KeepInRelease { objects, .. } = &changes[0] else { panic!("{changes:?}") };
    assert!(objects.iter().all(|object| object.kind == SharedKind::Crd), "its registrations go with it");
    assert!(!changes.iter().any(|change| matches!(change, Change::HandOver { .. })));
}

#[test]
fn without_helm_objects_are_protected_and_handed_over() {
    let state: Vec<LiveObject> = shared().into_iter().map(|object| live(object, None)).collect();
    let changes = plan(&state, &owner("kedge"), None);
    assert!(!changes.iter().any(|change| matches!(change, Change::KeepInRelease { .. })));
    assert_eq!(changes.len(), 6 + 6);
}

#[test]
fn a_foreign_metrics_adapter_is_left_alone() {
    let mut other = live(shared().remove(0), Some("prometheus-adapter"));
    other.part_of = vec!["prometheus-adapter".to_owned()];
    assert_eq!(plan(&[other], &owner("kedge"), None), []);
}

#[test]
fn a_registration_leads_to_the_release_that_has_it_once_that_is_installed() {
    let mut state = vec![live(shared().remove(0), Some("kedge"))];
    state[0].service = Some(service("keda"));
    assert_eq!(writes(&state, &owner("kedge")), [], "not installed yet");
    let changes = plan(&state, &owner("kedge"), Some(&service("kedge")));
    assert_eq!(changes.last(), Some(&Change::Repoint { object: shared().remove(0), service: service("kedge") }));
    changes.iter().for_each(|change| apply(&mut state, change));
    let again = plan(&state, &owner("kedge"), Some(&service("kedge")));
    assert!(!again.iter().any(|change| matches!(change, Change::Repoint { .. })));
}
