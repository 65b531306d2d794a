use proptest::prelude::*;

use super::*;

fn peer(text: &str) -> MysqlPeer {
    Dsn::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}")).peer
}

#[test]
fn the_parts_are_those_that_the_driver_finds() {
    let rows = [
        ("kedge:pw@tcp(db:3306)/shop", "kedge", "pw", "db:3306", "shop"),
        ("kedge@tcp(db:3307)/shop", "kedge", "", "db:3307", "shop"),
        ("kedge:pw@tcp(db)/shop", "kedge", "pw", "db:3306", "shop"),
        ("kedge:p@ss:w/rd(@tcp(db:1)/shop", "kedge", "p@ss:w/rd(", "db:1", "shop"),
        (":pw@tcp(db:1)/", "", "pw", "db:1", ""),
        ("tcp(db:1)/shop", "", "", "db:1", "shop"),
        ("kedge:pw@(db:1)/shop", "kedge", "pw", "db:1", "shop"),
        ("kedge:pw@tcp/shop", "kedge", "pw", "127.0.0.1:3306", "shop"),
        ("kedge:pw@/shop", "kedge", "pw", "127.0.0.1:3306", "shop"),
        ("/", "", "", "127.0.0.1:3306", ""),
        ("u:p@tcp(:3307)/shop", "u", "p", "127.0.0.1:3307", "shop"),
        ("u:p@tcp([::1]:3307)/shop", "u", "p", "[::1]:3307", "shop"),
        ("u:p@tcp(::1)/shop", "u", "p", "[::1]:3306", "shop"),
        ("u:p@tcp6([::1])/shop", "u", "p", "[::1]:3306", "shop"),
        ("u:p@tcp(db:1)/sh%2Fop%3F?tls=true", "u", "p", "db:1", "sh/op?"),
        ("u:p@tcp(db:1)/shop?", "u", "p", "db:1", "shop"),
        ("u:p@tcp(db:1)/shop?nothing&tls=", "u", "p", "db:1", "shop"),
    ];
    for (text, username, password, server, database) in rows {
        let peer = peer(text);
        let parts = (peer.username.as_str(), peer.password.reveal(), peer.server.to_string(), peer.database.as_str());
        assert_eq!(parts, (username, password, server.to_owned(), database), "{text}");
    }
}

#[test]
fn what_cannot_work_is_refused_without_showing_it() {
    let rows = [
        ("", "has no `/`"),
        ("u:hunter2@tcp(db:3306)", "has no `/`"),
        ("mysql://u:hunter2@db:3306/shop", "is a URL"),
        ("jdbc:mysql://db:3306/shop?password=hunter2", "is a URL"),
        ("u:hunter2@tcp(db:3306/shop", "has no `)`"),
        ("u:hunter2@tcp(db:3306)/shop?loc=Europe/Berlin", "has no `)`"),
        ("u:hunter2@unix(/run/mysqld/mysqld.sock)/shop", "names a Unix socket"),
        ("u:hunter2@db:3306/shop", "has another network than tcp"),
        ("u:hunter2@cloudsql(p:r:i)/shop", "has another network than tcp"),
        ("u:hunter2@tcp(http://db:3306)/shop", "has an address that has no usable host"),
        ("u:hunter2@tcp(db:mysql)/shop", "has an address that has no usable port"),
        ("u:hunter2@tcp(d b:1)/shop", "has an address that has no usable host"),
        ("u:hunter2@tcp(db:1)/shop%2", "has a database with a `%`"),
        ("u:hunter2@tcp(db:1)/shop?tls=hunter2", "has another `tls` than true, false, skip-verify and preferred"),
        ("u:hunter2@tcp(db:1)/shop?multiStatements=yes", "`multiStatements` that is neither true nor false"),
        ("u:hunter2@tcp(db:1)/shop?timeout=soon", "`timeout` that is no duration"),
        ("u:hunter2@tcp(db:1)/shop?writeTimeout=soon", "`writeTimeout` that is no duration"),
        ("u:hunter2@tcp(db:1)/shop?parseTime=yes", "`parseTime` that is neither true nor false"),
        ("u:hunter2@tcp(db:1)/shop?maxAllowedPacket=16M", "`maxAllowedPacket` that is no number of bytes"),
        ("u:hunter2@tcp(db:1)/shop?charset=utf8;x", "`charset` that is no name"),
        ("u:hunter2@tcp(db:1)/shop?collation=", "`collation` that is no name"),
        ("u:hunter2@tcp(db:1)/shop?serverPubKey=hunter2", "has `serverPubKey`, which is not supported"),
        ("u:hunter2@tcp(db:1)/shop?sql_mode=%zz", "has an option with a `%`"),
    ];
    for (text, expected) in rows {
        let error = Dsn::parse(text).expect_err(text);
        assert!(error.problem.contains(expected) && !error.remedy.is_empty(), "{text}: {error:?}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn options_mean_what_they_mean_to_the_driver() {
    let options = |text: &str| peer(&format!("u:p@tcp(db:1)/shop?{text}")).options;
    let tls = |verification, falls_back| MysqlOptions {
        tls: Some(MysqlTls { verification, falls_back }),
        ..MysqlOptions::default()
    };
    let plain = MysqlOptions::default;
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<String>>();
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let rows = [
        ("tls=false", plain()),
        ("tls=true", tls(Verification::Full, false)),
        ("tls=1", tls(Verification::Full, false)),
        ("tls=Skip-Verify", tls(Verification::Off, false)),
        ("tls=preferred", tls(Verification::Off, true)),
        ("allowFallbackToPlaintext=true&tls=true", tls(Verification::Full, true)),
        ("allowCleartextPasswords=true", MysqlOptions { clear_password: true, ..plain() }),
        ("allowNativePasswords=false", MysqlOptions { native_password: false, ..plain() }),
        ("multiStatements=true", MysqlOptions { multi_statements: true, ..plain() }),
        ("charset=utf8mb4,utf8", MysqlOptions { character_sets: texts(&["utf8mb4", "utf8"]), ..plain() }),
        ("collation=utf8mb4_bin", MysqlOptions { collation: Some("utf8mb4_bin".to_owned()), ..plain() }),
        ("parseTime=true&loc=Europe%2FBerlin&interpolateParams=true&compress=true", plain()),
        (
            "sql_mode=%27ANSI%27&a=1&a=2+3",
            MysqlOptions { variables: vec![variable("sql_mode", "'ANSI'"), variable("a", "2 3")], ..plain() },
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(options(text), expected, "{text}");
    }
    let limit = |text: &str| Dsn::parse(&format!("u:p@/shop?{text}")).unwrap().limit;
    let rows = [("tls=true", 0), ("timeout=5s", 5000), ("timeout=5s&readTimeout=1m", 60_000), ("writeTimeout=9s", 0)];
    for (text, millis) in rows {
        assert_eq!(limit(text), Duration::from_millis(millis), "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text: String, likely in "[a-z:@/()?&=%.\\[\\]0-9]{0,40}") {
        let _ = Dsn::parse(&text);
        let _ = Dsn::parse(&likely);
    }

    /// As long as the name has no colon, which ends it.
    #[test]
    fn any_user_and_password_are_found_again(username in "[^:]{1,9}", password in ".{0,20}") {
        let peer = peer(&format!("{username}:{password}@tcp(db:3306)/shop"));
        prop_assert_eq!((peer.username.as_str(), peer.password.reveal()), (username.as_str(), password.as_str()));
    }
}
