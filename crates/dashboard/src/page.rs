//! The page: its files are part of the program, and need nothing from elsewhere.

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) content: &'static str,
}

static ASSETS: [Asset; 6] = [
    Asset { path: "/", content_type: "text/html; charset=utf-8", content: include_str!("../page/index.html") },
    Asset { path: "/style.css", content_type: "text/css; charset=utf-8", content: include_str!("../page/style.css") },
    Asset { path: "/app.js", content_type: "text/javascript; charset=utf-8", content: include_str!("../page/app.js") },
    Asset {
        path: "/chart.js",
        content_type: "text/javascript; charset=utf-8",
        content: include_str!("../page/chart.js"),
    },
    Asset {
        path: "/format.js",
        content_type: "text/javascript; charset=utf-8",
        content: include_str!("../page/format.js"),
    },
    Asset { path: "/icon.svg", content_type: "image/svg+xml", content: include_str!("../page/icon.svg") },
];

/// Whether a path leads to a file of the page, which shows nothing by itself.
pub fn is_page_file(path: &str) -> bool {
    asset(path).is_some()
}

/// The file at a path.
pub(crate) fn asset(path: &str) -> Option<&'static Asset> {
    let path = if path.is_empty() { "/" } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the whole page may weigh.
    const BYTES_MAX: usize = 300 * 1024;

    #[test]
    fn the_page_is_small_and_names_no_other_site() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
        assert!(bytes <= BYTES_MAX, "{bytes} bytes");
        for asset in &ASSETS {
            let foreign = asset
                .content
                .lines()
                .find(|line| line.contains("//") && line.contains("http") && !line.contains("http://www.w3.org/"));
            assert_eq!(foreign, None, "{}", asset.path);
        }
    }

    #[test]
    fn every_file_that_the_page_names_is_served() {
        for asset in &ASSETS {
            let named = asset.content.split(['"', '\'']).filter(|text| {
                text.starts_with("./") || (text.starts_with('/') && text.contains('.') && !text.contains(' '))
            });
            for name in named {
                let path = name.trim_start_matches('.');
                assert!(self::asset(path).is_some(), "{} names {name}", asset.path);
            }
        }
    }
}
