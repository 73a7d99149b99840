use futures_util::FutureExt as _;

use super::*;

const GRACE: Duration = Duration::from_millis(250);

fn parts(sizes: &[usize]) -> VecDeque<LoanPart> {
    let part = |(upto, size): (u64, &usize)| LoanPart {
        upto,
        bytes: vec![b'x'; *size].into(),
    };
    (1..).zip(sizes).map(part).collect()
}

fn taken(loan: &mut Loan, most: usize) -> (u64, usize) {
    match loan.take(most) {
        Lent::Part(part) | Lent::Piece(part, _) => (part.upto, part.bytes.len()),
        other @ (Lent::Over | Lent::TakenBack) => panic!("{other:?}"),
    }
}

/// Spec: [HTTP-74]
#[tokio::test(start_paused = true)]
async fn what_is_lent_comes_in_its_parts_and_goes_back_when_it_is_dropped() {
    let budget = ReadBudget::new(100, GRACE);
    let mut loan = budget.lend(parts(&[10, 30])).await;
    assert_eq!(budget.lent_bytes(), 40);
    assert_eq!(taken(&mut loan, 20), (1, 10));
    assert_eq!(loan.next().unwrap().bytes.len(), 30);
    assert_eq!(taken(&mut loan, 20), (2, 20));
    assert_eq!(taken(&mut loan, 20), (2, 10));
    assert_eq!(loan.take(20), Lent::Over);
    drop(loan);
    assert_eq!(budget.lent_bytes(), 0);
}

/// Spec: [HTTP-74] [HTTP-75]
#[tokio::test(start_paused = true)]
async fn those_who_do_not_read_lose_what_others_need() {
    let budget = ReadBudget::new(100, GRACE);
    let mut stalled = budget.lend(parts(&[40])).await;
    let mut reads = budget.lend(parts(&[40])).await;
    tokio::time::advance(GRACE / 2).await;
    assert_eq!(taken(&mut reads, 1), (1, 1));
    // Nobody has been still for long enough.
    let began = Instant::now();
    let next = budget.lend(parts(&[40])).await;
    assert_eq!(began.elapsed(), GRACE / 2);
    assert_eq!(budget.lent_bytes(), 80);
    assert_eq!(stalled.take(9), Lent::TakenBack);
    assert_eq!(taken(&mut reads, 9), (1, 9));
    // What comes back is lent at once.
    let waits = budget.lend(parts(&[50]));
    let mut waits = Box::pin(waits);
    assert!(waits.as_mut().now_or_never().is_none());
    drop(next);
    let began = Instant::now();
    let loan = waits.await;
    assert_eq!((began.elapsed(), budget.lent_bytes()), (Duration::ZERO, 90));
    drop((loan, reads, stalled));
    assert_eq!(budget.lent_bytes(), 0);
}

/// Spec: [HTTP-74]
#[tokio::test(start_paused = true)]
async fn what_is_larger_than_everything_is_lent_nevertheless() {
    let budget = ReadBudget::new(100, GRACE);
    let stalled = [
        budget.lend(parts(&[1000])).await,
        budget.lend(parts(&[1000])).await,
    ];
    assert_eq!(budget.lent_bytes(), 100);
    let began = Instant::now();
    let mut third = budget.lend(parts(&[1000])).await;
    assert_eq!((began.elapsed(), budget.lent_bytes()), (GRACE, 100));
    assert_eq!(taken(&mut third, 2000), (1, 1000));
    drop(stalled);
}

/// Spec: [HTTP-74]
#[tokio::test(start_paused = true)]
async fn so_many_are_read_at_once_and_the_others_wait_in_order() {
    let budget = ReadBudget::new(100, GRACE);
    let mut turns = VecDeque::new();
    for _ in 0..TURNS {
        turns.push_back(budget.turn().await);
    }
    let mut first = Box::pin(budget.turn());
    let mut second = Box::pin(budget.turn());
    assert!(first.as_mut().now_or_never().is_none());
    assert!(second.as_mut().now_or_never().is_none());
    turns.pop_front();
    assert!(second.as_mut().now_or_never().is_none());
    assert!(first.now_or_never().is_some());
    assert!(second.now_or_never().is_some());
}
