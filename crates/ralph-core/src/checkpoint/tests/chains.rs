//! Whatever is done to a chain, the first checkpoint that does not fit is named.

use proptest::prelude::*;

use super::*;

/// Four checkpoints: three iterations and a stop.
fn links() -> Vec<Link> {
    let mut moments: Vec<Moment> = (1..=4).map(moment).collect();
    for (k, id) in [(0, "A"), (1, "B"), (2, "B")] {
        moments[k].work = Some(Box::new(work(k as u64 + 1, id, Found::Checked)));
    }
    chain(&moments).iter().map(Link::from).collect()
}

#[test]
fn a_whole_chain_is_found_whole() {
    assert_eq!(verify(&links()), Ok(()));
    assert_eq!(verify(&[]), Ok(()));
}

#[test]
fn a_changed_content_is_named() {
    let mut links = links();
    links[1].body = links[1].body.replace("cargo test", "true");
    let damage = verify(&links).unwrap_err();
    assert!(matches!(damage, Damage::Content { n: 2, .. }), "{damage:?}");
    let sentence = damage.to_string();
    let start = "checkpoint 01900000-0000-7000-8000-000000000002 (number 2) was changed: its content \
                 has the hash ";
    assert!(sentence.starts_with(start), "{sentence}");
}

#[test]
fn a_content_that_was_changed_and_hashed_anew_breaks_the_next_link() {
    let mut links = links();
    let mut checkpoint: Checkpoint = serde_json::from_str(&links[1].body).unwrap();
    checkpoint.metrics.cost_micro_usd = 1;
    links[1] = Link::from(&seal(checkpoint).unwrap());
    let id = links[2].id.clone();
    assert_eq!(verify(&links), Err(Damage::Link { id, n: 3 }));
}

#[test]
fn what_can_be_gone_on_from_is_whole_and_follows_from_the_one_before() {
    let numbers = |links: &[Link]| {
        let newest_first: Vec<Link> = links.iter().rev().cloned().collect();
        let (found, damage) = valid(&newest_first);
        let numbers: Vec<u64> = found.iter().map(|one| one.metadata.n).collect();
        (numbers, damage.map(|damage| damage.n()))
    };
    assert_eq!(numbers(&links()), (vec![4, 3, 2, 1], None));
    let mut damaged = links();
    damaged[3].body.push(' ');
    assert_eq!(numbers(&damaged), (vec![3, 2, 1], Some(4)));
    let mut replaced = links();
    let mut checkpoint: Checkpoint = serde_json::from_str(&replaced[2].body).unwrap();
    checkpoint.metrics.cost_micro_usd = 1;
    replaced[2] = Link::from(&seal(checkpoint).unwrap());
    assert_eq!(numbers(&replaced), (vec![3, 2, 1], Some(4)));
}

#[test]
fn a_missing_one_is_named_by_its_successor() {
    let mut links = links();
    links.remove(1);
    let damage = verify(&links).unwrap_err();
    let id = "01900000-0000-7000-8000-000000000003".into();
    let (n, expected) = (3, 2);
    assert_eq!(damage, Damage::Order { id, n, expected });
}

#[test]
fn the_first_one_can_not_be_left_out() {
    let links = &links()[1..];
    assert!(matches!(
        verify(links),
        Err(Damage::Order {
            n: 2,
            expected: 1,
            ..
        })
    ));
}

#[test]
fn an_exchange_of_two_is_found() {
    let mut links = links();
    links.swap(1, 2);
    assert!(matches!(verify(&links), Err(Damage::Order { n: 3, .. })));
}

#[test]
fn what_stands_beside_the_content_must_say_the_same() {
    type Change = (&'static str, fn(&mut Link));
    let changes: [Change; 7] = [
        ("id", |link| link.id = "x".into()),
        ("loop", |link| link.loop_id = "x".into()),
        ("iteration", |link| link.iteration = Some(77)),
        ("phase", |link| link.phase = "complete".into()),
        ("time", |link| link.at = "2026-01-01T00:00:00Z".into()),
        ("commit", |link| link.commit = "f".repeat(40)),
        ("previous hash", |link| link.prev_hash = None),
    ];
    for (column, change) in changes {
        let mut links = links();
        change(&mut links[2]);
        match verify(&links) {
            Err(Damage::Column {
                n: 3,
                column: found,
                ..
            }) => assert_eq!(found, column),
            other => panic!("{column}: {other:?}"),
        }
    }
}

#[test]
fn a_newest_one_that_is_gone_is_missed_by_its_iteration() {
    let mut seen = Chain::default();
    for link in &links()[..2] {
        seen.take(link).unwrap();
    }
    assert_eq!(seen.end(Some(2), 2), Ok(()));
    let (n, iteration) = (2, 3);
    assert_eq!(seen.end(Some(3), 3), Err(Damage::End { n, iteration }));
    let of_before_there_were_any = Chain::default();
    assert_eq!(of_before_there_were_any.end(Some(9), 0), Ok(()));
}

#[test]
fn one_that_is_gone_behind_the_last_iteration_is_missed_by_how_many_there_were() {
    let mut seen = Chain::default();
    let cut = |n, made| Err(Damage::Cut { n, made });
    assert_eq!(seen.end(None, 2), cut(0, 2));
    for link in &links()[..2] {
        seen.take(link).unwrap();
    }
    assert_eq!(seen.end(Some(2), 3), cut(2, 3));
    assert_eq!(seen.end(None, 2), Ok(()));
}

proptest! {
    #[test]
    fn any_flipped_bit_is_found_at_its_place(at in 0usize..4, byte in any::<prop::sample::Index>(), bit in 0u8..7) {
        let mut links = links();
        let mut bytes = links[at].body.clone().into_bytes();
        let place = byte.index(bytes.len());
        bytes[place] ^= 1 << bit;
        // A text of ASCII stays one when a low bit flips.
        links[at].body = String::from_utf8(bytes).unwrap();
        let damage = verify(&links).unwrap_err();
        prop_assert_eq!(damage.n(), at as u64 + 1);
        prop_assert_eq!(damage.id(), Some(&links[at].id));
    }

    #[test]
    fn any_other_order_and_any_gap_is_found(order in Just(vec![0usize, 1, 2, 3]).prop_shuffle(), length in 1usize..=4) {
        let links = links();
        let taken: Vec<Link> = order[..length].iter().map(|at| links[*at].clone()).collect();
        let is_a_beginning = order[..length].iter().enumerate().all(|(k, at)| k == *at);
        prop_assert_eq!(verify(&taken).is_ok(), is_a_beginning);
    }

    #[test]
    fn every_chain_that_is_sealed_is_whole(notes in prop::collection::vec(".{0,40}", 0..12)) {
        let moments: Vec<Moment> = (1..).zip(&notes).map(|(k, note)| Moment {
            note: Some(note.clone()),
            ..moment(k)
        }).collect();
        let links: Vec<Link> = chain(&moments).iter().map(Link::from).collect();
        prop_assert_eq!(verify(&links), Ok(()));
    }
}
