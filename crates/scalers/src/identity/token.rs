//! Values that expire: cached, shared, and renewed before they do.

use std::future::Future;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::trigger::Secret;

/// How long before it expires a value is renewed, at most; one that does not last twice as long is renewed at half time.
const AHEAD_MAX: TimeDelta = TimeDelta::minutes(5);
/// No token lasts longer; a larger number is an error of the server.
pub(crate) const LIFETIME_MAX: TimeDelta = TimeDelta::days(30);

/// A value, and when it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expiring<T> {
    pub(crate) value: T,
    pub(crate) expires_at: Option<DateTime<Utc>>,
}

impl<T> Expiring<T> {
    pub(super) fn forever(value: T) -> Self {
        Self { value, expires_at: None }
    }

    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Expiring<U> {
        Expiring { value: change(self.value), expires_at: self.expires_at }
    }
}

/// A cache for one value. The first caller that finds none fetches one; the others wait for it.
#[derive(Debug)]
pub(crate) struct Renewing<T>(Mutex<Option<Held<T>>>);

#[derive(Debug)]
struct Held<T> {
    expiring: Expiring<T>,
    renew_at: Option<DateTime<Utc>>,
}

impl<T> Default for Renewing<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Renewing<T> {
    /// The cached value while it is fresh, else what `fetch` gives. If that fails, the old one is used until it expires.
    pub(crate) async fn get(
        &self,
        now: DateTime<Utc>,
        fetch: impl Future<Output = Result<Expiring<T>, String>>,
    ) -> Result<T, String> {
        let mut held = self.0.lock().await;
        let is_before = |limit: Option<DateTime<Utc>>| limit.is_none_or(|limit| now < limit);
        if let Some(held) = held.as_ref().filter(|held| is_before(held.renew_at)) {
            return Ok(held.expiring.value.clone());
        }
        match fetch.await {
            Ok(expiring) => {
                let value = expiring.value.clone();
                *held = Some(Held { renew_at: expiring.expires_at.map(|end| renew_at(now, end)), expiring });
                Ok(value)
            }
            Err(problem) => match held.as_ref().filter(|held| is_before(held.expiring.expires_at)) {
                Some(old) => {
                    tracing::warn!(problem, "credentials cannot be renewed; the old ones are used until they end");
                    Ok(old.expiring.value.clone())
                }
                None => Err(problem),
            },
        }
    }
}

impl<T> Renewing<T> {
    /// Drops the cached value.
    pub(crate) async fn discard(&self) {
        *self.0.lock().await = None;
    }
}

fn renew_at(now: DateTime<Utc>, expires_at: DateTime<Utc>) -> DateTime<Utc> {
    let lifetime = expires_at.signed_duration_since(now).max(TimeDelta::zero());
    expires_at.checked_sub_signed(AHEAD_MAX.min(lifetime / 2)).unwrap_or(now)
}

/// The answer of an OAuth token endpoint.
pub(super) fn parse_token_response(body: &[u8], now: DateTime<Utc>) -> Result<Expiring<Secret>, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|_| "the answer with the token is not JSON".to_owned())?;
    let token = answer["access_token"].as_str().filter(|token| !token.is_empty());
    let token = token.ok_or("the answer has no access_token")?;
    // Some write the number as a text.
    let seconds = answer["expires_in"].as_i64().or_else(|| answer["expires_in"].as_str()?.parse().ok());
    let seconds = seconds.ok_or("the answer does not say when the token ends")?;
    let lifetime = TimeDelta::try_seconds(seconds.max(0)).unwrap_or(LIFETIME_MAX).min(LIFETIME_MAX);
    Ok(Expiring { value: Secret::new(token), expires_at: now.checked_add_signed(lifetime) })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn expiring(value: u32, ends: i64) -> Result<Expiring<u32>, String> {
        Ok(Expiring { value, expires_at: Some(at(ends)) })
    }

    #[tokio::test]
    async fn what_is_held_is_renewed_before_it_ends() {
        let held = Renewing::default();
        let rows = [
            ("the first is fetched", 0, expiring(1, 3600), Ok(1)),
            ("it is kept", 3299, expiring(2, 9000), Ok(1)),
            ("five minutes before its end it is renewed", 3300, expiring(3, 3900), Ok(3)),
            ("what lasts ten minutes is kept for five", 3599, expiring(4, 9000), Ok(3)),
            ("a failure leaves the old one", 3600, Err("down".to_owned()), Ok(3)),
            ("as long as it lasts", 3900, Err("down".to_owned()), Err("down".to_owned())),
            ("and then there is none", 3901, Err("down".to_owned()), Err("down".to_owned())),
            ("until one is given again", 3902, expiring(5, 3904), Ok(5)),
            ("half of a short life", 3903, expiring(6, 9000), Ok(6)),
        ];
        for (name, now, given, expected) in rows {
            assert_eq!(held.get(at(now), async { given }).await, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn many_callers_fetch_it_once() {
        let (held, fetched) = (Renewing::default(), AtomicUsize::new(0));
        let want = || {
            held.get(at(0), async {
                fetched.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                expiring(1, 3600)
            })
        };
        assert_eq!(tokio::join!(want(), want(), want()), (Ok(1), Ok(1), Ok(1)));
        assert_eq!(fetched.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn token_answers_are_read_strictly() {
        let end = |seconds| Some(Some(at(seconds)));
        let rows = [
            (r#"{"access_token":"t","expires_in":3599}"#, end(3599)),
            (r#"{"access_token":"t","expires_in":"60"}"#, end(60)),
            (r#"{"access_token":"t","expires_in":-5}"#, end(0)),
            (r#"{"access_token":"t","expires_in":9223372036854775807}"#, end(30 * 86400)),
            (r#"{"access_token":"","expires_in":1}"#, None),
            (r#"{"access_token":"t"}"#, None),
            ("[]", None),
            ("<html>", None),
        ];
        for (body, expected) in rows {
            let expiring = parse_token_response(body.as_bytes(), at(0)).ok();
            assert_eq!(expiring.map(|expiring| expiring.expires_at), expected, "{body}");
        }
    }

    proptest! {
        #[test]
        fn renewal_is_never_after_the_end_nor_before_the_beginning(now in 0i64..1 << 40, lifetime in 0i64..1 << 30) {
            let (now, end) = (at(now), at(now + lifetime));
            prop_assert!((now..=end).contains(&renew_at(now, end)));
        }
    }
}
