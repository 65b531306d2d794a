//! The proxies of scalers. A proxy's address may hold credentials, so it is never repeated.

use kedge_scalers::Proxies;

use super::reader::Reader;

pub(super) fn settle(read: &mut Reader<'_>) -> Proxies {
    let [http, https, direct] =
        [["HTTP_PROXY", "http_proxy"], ["HTTPS_PROXY", "https_proxy"], ["NO_PROXY", "no_proxy"]]
            .map(|names| either(read, names));
    match Proxies::parse(http.as_deref(), https.as_deref(), direct.as_deref()) {
        Ok(proxies) => proxies,
        Err(problem) => {
            read.problem(format!("{} {}; {}", problem.field, problem.problem, problem.remedy));
            Proxies::default()
        }
    }
}

/// KEDA: upper case first.
fn either(read: &Reader<'_>, names: [&str; 2]) -> Option<String> {
    names.into_iter().find_map(|name| read.text(name))
}
