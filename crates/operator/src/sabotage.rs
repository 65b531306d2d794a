//! Deliberate defects, for the fault suite, which must find each of them. They are compiled in by the feature `sabotage` alone,
//! and even then nothing but a test turns one on, for its own thread.

/// What is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The target is written as the watch showed it, without a look at what it is now.
    NoLiveRead,
    /// Whether an object is paused is taken from its status.
    PauseFromStatus,
    /// A source that does not answer counts as one that says zero.
    UnknownIsZero,
    /// An HPA is taken whoever owns it.
    AnyHpaIsOurs,
    /// The finalizer goes before the target gets back what it had.
    FinalizerFirst,
    /// The end of activity is not written down.
    LastActiveTimeNotWritten,
    /// Triggers are not built anew when the object changes.
    GenerationIgnored,
    /// A write that met another is repeated as it was.
    OldDecisionRetried,
    /// A leader that has lost its lease goes on.
    LeaderForEver,
    /// The status is written at every poll.
    StatusAtEveryPoll,
    /// A cooldown that had begun begins again when the process does.
    CooldownFromRestart,
    /// What a watch missed is never listed.
    NeverListedAgain,
}

impl Sabotage {
    pub const ALL: [Self; 12] = [
        Self::NoLiveRead,
        Self::PauseFromStatus,
        Self::UnknownIsZero,
        Self::AnyHpaIsOurs,
        Self::FinalizerFirst,
        Self::LastActiveTimeNotWritten,
        Self::GenerationIgnored,
        Self::OldDecisionRetried,
        Self::LeaderForEver,
        Self::StatusAtEveryPoll,
        Self::CooldownFromRestart,
        Self::NeverListedAgain,
    ];
}

#[cfg(feature = "sabotage")]
thread_local! {
    static CHOSEN: std::cell::Cell<Option<Sabotage>> = const { std::cell::Cell::new(None) };
}

/// Breaks this on purpose in operators of this thread; or nothing.
#[cfg(feature = "sabotage")]
pub fn choose(sabotage: Option<Sabotage>) {
    CHOSEN.set(sabotage);
}

/// Whether this is broken on purpose.
#[cfg(feature = "sabotage")]
pub(crate) fn is(sabotage: Sabotage) -> bool {
    CHOSEN.get() == Some(sabotage)
}

/// Nothing is.
#[cfg(not(feature = "sabotage"))]
pub(crate) const fn is(_: Sabotage) -> bool {
    false
}
