//! Users: added once, found, listed, and edited only by a caller that knows their present revision.

use store::{
    AGENT_PROMPT_BYTES_MAX, DatabaseErrorKind, Slug, User, UserFilter, UserKind, UserRole,
    UserStore,
};

use crate::place::{Place, on_both};

on_both!(
    users_are_kept_unique_and_edited_by_who_has_seen_them,
    several_are_added_or_none,
    users_are_there_when_the_database_is_opened_again,
    of_two_edits_at_once_one_is_kept,
    of_two_who_take_an_address_at_once_one_has_it,
    what_cannot_be_a_user_is_refused_and_nothing_is_kept,
    keys_are_taken_out_of_prompts,
);

pub(crate) fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

pub(crate) fn person(name: &str, email: &str) -> User {
    User {
        slug: slug(name),
        display_name: format!("The {name}"),
        role: UserRole::Reviewer,
        is_active: true,
        nature: UserKind::Person {
            email: email.to_owned(),
        },
        revision: 0,
        created_ms: 0,
        updated_ms: 0,
    }
}

pub(crate) fn agent(name: &str, prompt: &str) -> User {
    let nature = UserKind::Agent {
        prompt: prompt.to_owned(),
    };
    User {
        nature,
        role: UserRole::Operator,
        ..person(name, "")
    }
}

async fn names(people: &(impl UserStore + ?Sized), who: UserFilter) -> Vec<String> {
    let users = people.users(who).await.unwrap();
    users.iter().map(|user| user.slug.to_string()).collect()
}

async fn check_kept(people: &(impl UserStore + ?Sized)) {
    let ada = people.add_user(&person("ada", "Ada@example.org")).await;
    let ada = ada.unwrap();
    assert_eq!((ada.revision, ada.is_agent()), (1, false));
    assert_eq!(ada.email(), Some("Ada@example.org"));
    let reviewer = agent(
        "code-reviewer",
        "You review.\nBe kind; DROP TABLE users; '\"",
    );
    let reviewer = people.add_user(&reviewer).await.unwrap();
    assert_eq!(people.user(&ada.slug).await.unwrap(), Some(ada));
    assert_eq!(people.user(&reviewer.slug).await.unwrap(), Some(reviewer));
    assert_eq!(people.user(&slug("nobody")).await.unwrap(), None);
    for (who, expected) in [
        (UserFilter::Everybody, vec!["ada", "code-reviewer"]),
        (UserFilter::People, vec!["ada"]),
        (UserFilter::Agents, vec!["code-reviewer"]),
    ] {
        assert_eq!(names(people, who).await, expected, "{who:?}");
    }
}

async fn check_unique(people: &(impl UserStore + ?Sized)) {
    people.add_user(&person("one", "one@x.org")).await.unwrap();
    let two = people.add_user(&person("two", "two@x.org")).await.unwrap();
    let twice = [
        (person("one", "other@x.org"), "a user `one` already"),
        (person("three", "ONE@x.org"), "the address ONE@x.org"),
    ];
    for (user, says) in twice {
        let error = people.add_user(&user).await.unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Conflict);
        assert!(error.to_string().contains(says), "{error}");
    }
    let mut moved = two.clone();
    moved.nature = person("two", "one@x.org").nature;
    let error = people.edit_user(&moved).await.unwrap_err();
    assert!(
        error.to_string().contains("the address one@x.org"),
        "{error}"
    );
    assert_eq!(people.user(&two.slug).await.unwrap(), Some(two));
}

async fn check_edits(people: &(impl UserStore + ?Sized)) {
    let seen = people.add_user(&agent("editor", "First.")).await.unwrap();
    let mut edit = seen.clone();
    edit.nature = agent("editor", "Second.").nature;
    edit.is_active = false;
    let edited = people.edit_user(&edit).await.unwrap();
    assert_eq!(
        (edited.revision, edited.agent_prompt()),
        (2, Some("Second."))
    );
    assert!(edited.updated_ms >= edited.created_ms);
    assert_eq!(
        people.user(&seen.slug).await.unwrap().as_ref(),
        Some(&edited)
    );

    let late = people.edit_user(&seen).await.unwrap_err();
    assert_eq!(late.kind(), DatabaseErrorKind::Conflict);
    assert!(
        late.to_string().contains("edited in the meantime"),
        "{late}"
    );
    let nobody = people.edit_user(&agent("ghost", "Boo.")).await.unwrap_err();
    assert_eq!(nobody.kind(), DatabaseErrorKind::Missing);
    assert_eq!(people.user(&seen.slug).await.unwrap(), Some(edited));
}

async fn users_are_kept_unique_and_edited_by_who_has_seen_them(place: &Place) {
    let store = place.open().await;
    check_kept(&*store).await;
    check_unique(&*store).await;
    check_edits(&*store).await;
}

async fn several_are_added_or_none(place: &Place) {
    let store = place.open().await;
    store.add_user(&person("ada", "a@x.org")).await.unwrap();
    for (second, kind) in [
        (agent("ada", "Do."), DatabaseErrorKind::Conflict),
        (person("eve", "A@X.org"), DatabaseErrorKind::Conflict),
        (agent("new", "Do."), DatabaseErrorKind::Conflict),
        (agent("eve", " "), DatabaseErrorKind::Invalid),
    ] {
        let refused = store.add_users(&[agent("new", "Do."), second]).await;
        assert_eq!(refused.unwrap_err().kind(), kind);
        assert_eq!(store.users(UserFilter::Everybody).await.unwrap().len(), 1);
    }
    assert_eq!(store.add_users(&[]).await.unwrap(), []);
    let both = [agent("new", "Do."), person("eve", "e@x.org")];
    let added = store.add_users(&both).await.unwrap();
    assert_eq!(added.len(), 2);
    assert_eq!(store.users(UserFilter::Everybody).await.unwrap().len(), 3);
}

async fn users_are_there_when_the_database_is_opened_again(place: &Place) {
    let store = place.open().await;
    let added = store.add_user(&agent("a", "Do.")).await.unwrap();
    drop(store);
    let store = place.open().await;
    assert_eq!(store.users(UserFilter::Everybody).await.unwrap(), [added]);
}

async fn of_two_edits_at_once_one_is_kept(place: &Place) {
    let stores = [place.open().await, place.open().await];
    let seen = stores[0].add_user(&agent("a", "Do.")).await.unwrap();
    let edits = ["Left.", "Right."].map(|prompt| User {
        nature: agent("a", prompt).nature,
        ..seen.clone()
    });
    let (one, other) = tokio::join!(
        stores[0].edit_user(&edits[0]),
        stores[1].edit_user(&edits[1])
    );
    assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
}

async fn of_two_who_take_an_address_at_once_one_has_it(place: &Place) {
    let stores = [place.open().await, place.open().await];
    for round in 0..10 {
        let free = format!("free-{round}@x.org");
        let added = [format!("a{round}"), format!("b{round}")].map(|name| {
            let old = format!("{name}@x.org");
            person(&name, &old)
        });
        let one = stores[0].add_user(&added[0]).await.unwrap();
        let other = stores[1].add_user(&added[1]).await.unwrap();
        let moved = [one, other].map(|user| User {
            nature: person("x", &free).nature,
            ..user
        });
        let (one, other) = tokio::join!(
            stores[0].edit_user(&moved[0]),
            stores[1].edit_user(&moved[1])
        );
        assert_ne!(one.is_ok(), other.is_ok(), "{one:?} {other:?}");
        let error = one.and(other).unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains(&free), "{error}");
    }
}

async fn what_cannot_be_a_user_is_refused_and_nothing_is_kept(place: &Place) {
    let store = place.open().await;
    let long = "x".repeat(AGENT_PROMPT_BYTES_MAX + 1);
    for (user, says) in [
        (person("a", "nowhere"), "no mail address"),
        (person("a", "@x.org"), "no mail address"),
        (person("a", "a@b@x.org"), "no mail address"),
        (person("a", "a@x..org"), "no mail address"),
        (person("a", "Ada <a@x.org>"), "no mail address"),
        (agent("a", " \n"), "an agent needs a prompt"),
        (agent("a", "Do\0it."), "NUL"),
        (agent("a", &long), "AGENT_PROMPT_BYTES_MAX = 262144"),
        (
            User {
                display_name: "two\nlines".to_owned(),
                ..agent("a", "Do.")
            },
            "one line",
        ),
        (
            User {
                display_name: "x".repeat(201),
                ..agent("a", "Do.")
            },
            "DISPLAY_NAME_CHARS_MAX = 200",
        ),
    ] {
        let error = store.add_user(&user).await.unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(store.users(UserFilter::Everybody).await.unwrap().is_empty());
}

#[test]
fn slugs_have_one_shape() {
    for text in ["a", "code-reviewer", "7", "a--b"] {
        assert_eq!(text.parse::<Slug>().unwrap().as_str(), text);
    }
    let long = "x".repeat(65);
    for text in ["", "-a", "a-", "A", "a b", "a/b", "ä", "a_b", "a\n", &long] {
        let error = text.parse::<Slug>().unwrap_err();
        assert_eq!(error.kind(), DatabaseErrorKind::Invalid, "{text:?}");
    }
}

async fn keys_are_taken_out_of_prompts(place: &Place) {
    let store = place.open().await;
    let leaky = agent("a", "Use sk-secret-1 to get in.");
    let added = store.add_user(&leaky).await.unwrap();
    assert_eq!(added.agent_prompt(), Some("Use [key removed] to get in."));
    assert_eq!(store.user(&added.slug).await.unwrap(), Some(added));
}
