//! TLS to a server: its identity can be checked, and errors do not contain the password.
//!
//! The certificates were made once: `certificates/server.pem` is for 127.0.0.1 and was signed by
//! `authority.pem`, whose key is not kept.

use std::net::TcpListener;
use std::path::PathBuf;

use sqlx::Row as _;
use store::{DatabaseErrorKind, UserFilter, UserStore as _};

use crate::cluster::{Cluster, Flush};
use crate::database::{Opened, open};

const DATABASE: &str = "tls";

fn certificate(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/opening/certificates");
    PathBuf::from(folder).join(name)
}

/// A server that speaks TLS, and its port.
async fn server() -> (Cluster, u16) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut cluster = Cluster::make(Flush::No, |_| {});
    cluster.speak_tls(port, &certificate("server.pem"), &certificate("server.key"));
    cluster.run().await;
    cluster.database(DATABASE).await;
    (cluster, port)
}

/// Tells for each of our own connections whether it is encrypted.
async fn are_encrypted(cluster: &Cluster) -> Vec<bool> {
    let mut connection = cluster.connect(DATABASE).await.unwrap();
    let rows = sqlx::query(
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE application_name = 'drawloom'",
    );
    let rows = rows.fetch_all(&mut connection).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Waits until the server has ended our earlier connections: it does so a moment after we have closed them.
async fn wait_until_unconnected(cluster: &Cluster) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !are_encrypted(cluster).await.is_empty() {
        assert!(std::time::Instant::now() < until, "a connection is left");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_reached_by_tls_and_has_to_be_who_it_should() {
    let (cluster, port) = server().await;
    let authority = certificate("authority.pem");
    let authority = authority.display();
    for (ways, is_encrypted) in [
        ("?sslmode=disable".to_owned(), false),
        ("".to_owned(), true),
        ("?sslmode=require".to_owned(), true),
        (format!("?sslmode=verify-ca&sslrootcert={authority}"), true),
        (
            format!("?sslmode=verify-full&sslrootcert={authority}"),
            true,
        ),
    ] {
        let address = format!("postgres://drawloom:geheim@127.0.0.1:{port}/{DATABASE}{ways}");
        let Opened::Server(store) = open(&address).await.unwrap() else {
            panic!("it is a server");
        };
        assert!(store.users(UserFilter::Everybody).await.unwrap().is_empty());
        assert_eq!(are_encrypted(&cluster).await, [is_encrypted], "{ways}");
        drop(store);
        wait_until_unconnected(&cluster).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_gets_no_password_and_the_error_has_none() {
    let (_cluster, port) = server().await;
    let (right, wrong) = (
        certificate("authority.pem"),
        certificate("other-authority.pem"),
    );
    let (right, wrong) = (right.display(), wrong.display());
    for (host, ways, says) in [
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={wrong}"),
            vec!["over TLS", "certificate", "Check sslmode and sslrootcert"],
        ),
        (
            "127.0.0.1",
            "sslmode=verify-full".to_owned(),
            vec!["over TLS", "certificate"],
        ),
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={right}"),
            vec!["over TLS", "certificate", "localhost"],
        ),
        // By an address that may be another machine the certificate is asked for without a word: of
        // a known authority, and for this host.
        (
            "0.0.0.0",
            String::new(),
            vec!["over TLS", "certificate", "Check sslmode and sslrootcert"],
        ),
        (
            "0.0.0.0",
            format!("sslrootcert={right}"),
            vec!["over TLS", "certificate"],
        ),
        (
            "127.0.0.1",
            "sslmode=verify-full&sslrootcert=/nowhere/ca.pem".to_owned(),
            vec!["sslrootcert", "names /nowhere/ca.pem", "cannot be read"],
        ),
        (
            "127.0.0.1",
            "sslmode=perhaps".to_owned(),
            vec!["cannot be read", "perhaps"],
        ),
    ] {
        let address = format!("postgres://drawloom:geheim@{host}:{port}/{DATABASE}?{ways}");
        let Err(error) = open(&address).await else {
            panic!("{ways} is opened");
        };
        let text = format!("{error} {error:?}");
        assert_eq!(error.kind(), DatabaseErrorKind::Open, "{text}");
        for piece in says {
            assert!(text.contains(piece), "{piece:?} is missing in: {text}");
        }
        assert!(!text.contains("geheim"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_without_a_certificate_is_reached_where_its_address_says_so() {
    let (cluster, port) = server().await;
    for (ways, is_encrypted) in [("require", true), ("prefer", true), ("disable", false)] {
        let address =
            format!("postgres://drawloom:geheim@0.0.0.0:{port}/{DATABASE}?sslmode={ways}");
        let store = open(&address).await.unwrap();
        assert_eq!(are_encrypted(&cluster).await, [is_encrypted], "{ways}");
        drop(store);
        wait_until_unconnected(&cluster).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused_where_it_is_required() {
    let cluster = Cluster::start(Flush::No).await;
    let address = cluster.database("plain").await;
    let address = address.replace("drawloom@", "drawloom:geheim@");
    let Err(error) = open(&format!("{address}?sslmode=require")).await else {
        panic!("a server without TLS is taken for one with it");
    };
    assert_eq!(error.kind(), DatabaseErrorKind::Open, "{error}");
    assert!(
        error.to_string().contains("does not support TLS"),
        "{error}"
    );
    assert!(!error.to_string().contains("geheim"), "{error}");
}
