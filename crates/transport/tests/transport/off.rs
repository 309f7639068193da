//! The person at the terminal, and a terminal without a person.

use transport::{AskResolution, DeferReason, TRIES_MAX, TransportMode};

use crate::support::{Case, Scripted, assert_answers};

fn off() -> Case<'static> {
    let mut case = Case::default();
    case.setup.mode = TransportMode::Off;
    case
}

const TYPED: [&str; 6] = [
    "A card that shows a customer.",
    r#"["name","email"]"#,
    "true",
    "return <Card/>;\n",
    r#"{"rows": 3}"#,
    "",
];

#[test]
fn a_person_is_asked_each_question() {
    let mut person = Scripted::new(&TYPED);
    match off().resolve(Some(&mut person)).unwrap() {
        AskResolution::Resolved(answers, _) => assert_answers(&answers),
        other => panic!("{other:?}"),
    }
    assert_eq!(person.asked.len(), 6);
    assert_eq!(person.asked[5], "6/6 note ");
}

#[test]
fn a_wrong_answer_is_asked_again_with_the_reason() {
    let mut typed = TYPED.to_vec();
    typed.splice(1..1, ["phone", ""]);
    let mut person = Scripted::new(&typed);
    assert!(matches!(
        off().resolve(Some(&mut person)),
        Ok(AskResolution::Resolved(..))
    ));
    assert!(
        person.asked[2].starts_with("2/6 fields Answer `fields`"),
        "{:?}",
        person.asked
    );
    assert!(
        person.asked[3].contains("An answer is needed."),
        "{:?}",
        person.asked
    );
}

#[test]
fn patience_ends() {
    let mut person = Scripted::new(&["text", "no", "no", "no", "no", "no", "no"]);
    let error = off().resolve(Some(&mut person)).unwrap_err();
    assert_eq!(error.code().as_str(), "AI_ANSWER_INVALID");
    assert!(error.to_string().contains("5 tries (TRIES_MAX)"), "{error}");
    assert_eq!(person.asked.len() as u32, 1 + TRIES_MAX);
    assert_eq!(error.answered().len(), 1, "the first answer is kept");
}

#[test]
fn a_person_who_stops_keeps_the_answers_given() {
    let mut person = Scripted::new(&TYPED[..2]);
    match off().resolve(Some(&mut person)).unwrap() {
        AskResolution::Deferred(DeferReason::PersonLeft { answered }) => {
            assert_eq!(answered.len(), 2)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_a_person_or_in_stdout_mode_the_questions_are_deferred() {
    assert_eq!(
        off().resolve(None),
        Ok(AskResolution::Deferred(DeferReason::NobodyThere))
    );
    let mut case = Case::default();
    case.setup.mode = TransportMode::Stdout;
    let mut person = Scripted::new(&TYPED);
    let resolved = case.resolve(Some(&mut person));
    assert_eq!(resolved, Ok(AskResolution::Deferred(DeferReason::Stdout)));
    assert!(person.asked.is_empty());
}
