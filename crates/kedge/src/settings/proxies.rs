//! The proxies of scalers. The URL of a proxy may hold credentials, so that no message quotes it.

use kedge_scalers::Proxies;

use super::reader::SettingsReader;

pub(super) fn resolve(read: &mut SettingsReader<'_>) -> Proxies {
    let [http, https, direct] =
        [["HTTP_PROXY", "http_proxy"], ["HTTPS_PROXY", "https_proxy"], ["NO_PROXY", "no_proxy"]]
            .map(|names| either(read, names));
    match Proxies::parse(http.as_deref(), https.as_deref(), direct.as_deref()) {
        Ok(proxies) => proxies,
        Err(problem) => {
            read.error(format!("{} {}; {}", problem.field, problem.problem, problem.remedy));
            Proxies::default()
        }
    }
}

/// KEDA: upper case first.
fn either(read: &SettingsReader<'_>, names: [&str; 2]) -> Option<String> {
    names.into_iter().find_map(|name| read.text(name))
}
