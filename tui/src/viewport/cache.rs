//! The layouts of the parts that were shown last.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;

use crate::conversation::{Part, PartId};
use crate::highlight::Code;
use crate::layout::{PartLayout, RowPiece, ScreenRow};
use crate::part_view::FoldAmount;

/// Maximum number of rows that are kept.
pub(super) const MAX_ROWS: usize = 4_000;
/// Maximum size of those rows, in bytes.
pub(super) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Lays out a part for a width. It may keep what helps it with a part that grows.
pub(crate) type Lay = Box<dyn FnMut(&Part, u16, FoldAmount) -> PartLayout>;

/// The content that a layout shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayoutKey {
    pub(super) revision: u32,
    pub(super) width: u16,
    pub(super) fold: FoldAmount,
}

/// The layouts, one a part at most. What is on the screen stays, however large it is.
pub(super) struct Cache {
    lay: Lay,
    laid: HashMap<PartId, Laid>,
    /// The parts by when they were used last.
    order: BTreeMap<u64, PartId>,
    rows: usize,
    bytes: usize,
    clock: u64,
    /// The time at which the frame before this one began.
    before: u64,
    /// The time at which this frame began.
    frame: u64,
}

struct Laid {
    key: LayoutKey,
    block: Rc<PartLayout>,
    used: u64,
    bytes: usize,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} parts, {} rows, {} bytes",
            self.laid.len(),
            self.rows,
            self.bytes
        )
    }
}

impl Cache {
    pub(super) fn new(lay: Lay) -> Self {
        Self {
            lay,
            laid: HashMap::new(),
            order: BTreeMap::new(),
            rows: 0,
            bytes: 0,
            clock: 0,
            before: 0,
            frame: 0,
        }
    }

    /// The layout of a part.
    pub(super) fn block(&mut self, part: &Part, width: u16, fold: FoldAmount) -> Rc<PartLayout> {
        let key = LayoutKey {
            revision: part.revision,
            width,
            fold,
        };
        self.clock += 1;
        if let Some(laid) = self.laid.get_mut(&part.id)
            && laid.key == key
        {
            self.order.remove(&laid.used);
            laid.used = self.clock;
            self.order.insert(self.clock, part.id);
            return Rc::clone(&laid.block);
        }
        self.drop_part(part.id);
        let block = Rc::new((self.lay)(part, width.max(1), fold));
        let bytes = size(&block);
        self.rows += block.rows.len();
        self.bytes += bytes;
        self.order.insert(self.clock, part.id);
        self.laid.insert(
            part.id,
            Laid {
                key,
                block: Rc::clone(&block),
                used: self.clock,
                bytes,
            },
        );
        self.trim();
        block
    }

    /// A frame begins. What the last one used is kept until this one is drawn.
    pub(super) fn begin_frame(&mut self) {
        self.before = self.frame;
        self.frame = self.clock + 1;
    }

    fn trim(&mut self) {
        while self.rows > MAX_ROWS || self.bytes > MAX_BYTES {
            match self.order.first_key_value() {
                Some((used, part)) if *used < self.before => self.drop_part(*part),
                _ => return,
            }
        }
    }

    fn drop_part(&mut self, part: PartId) {
        if let Some(laid) = self.laid.remove(&part) {
            self.order.remove(&laid.used);
            self.rows -= laid.block.rows.len();
            self.bytes -= laid.bytes;
        }
    }
}

/// About how much memory a layout takes.
fn size(block: &PartLayout) -> usize {
    let pieces: usize = block.rows.iter().map(|row| row.pieces.len()).sum();
    let lines: usize = block.code.iter().map(Code::len).sum();
    let code = lines * size_of::<std::ops::Range<u32>>();
    block.source.len()
        + code
        + block.rows.len() * size_of::<ScreenRow>()
        + pieces * size_of::<RowPiece>()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::conversation::testing::{conversation, text};
    use crate::viewport::testing::plain;

    fn counted(rows: usize) -> (Cache, Rc<Cell<usize>>) {
        let count = Rc::new(Cell::new(0));
        let counter = Rc::clone(&count);
        let lay = move |_: &Part, _, _| {
            counter.set(counter.get() + 1);
            PartLayout {
                source: String::new(),
                rows: vec![ScreenRow::default(); rows],
                ..PartLayout::default()
            }
        };
        (Cache::new(Box::new(lay)), count)
    }

    /// Spec: [SCRL-07]
    #[test]
    fn a_part_is_laid_out_once_for_what_it_is() {
        let known = conversation(&[text("a")]);
        let mut part = known.at(0).unwrap().clone();
        let (mut cache, count) = counted(1);
        let mut lays = |part: &Part, width, fold| {
            cache.block(part, width, fold);
            count.get()
        };
        assert_eq!(lays(&part, 80, FoldAmount::Cut), 1);
        assert_eq!(lays(&part, 80, FoldAmount::Cut), 1);
        assert_eq!(lays(&part, 79, FoldAmount::Cut), 2);
        assert_eq!(lays(&part, 79, FoldAmount::Open), 3);
        part.revision += 1;
        assert_eq!(lays(&part, 79, FoldAmount::Open), 4);
        assert_eq!(lays(&part, 79, FoldAmount::Open), 4);
    }

    /// Spec: [SCRL-07]
    #[test]
    fn what_was_used_longest_ago_goes_but_nothing_that_is_on_the_screen() {
        let texts: Vec<_> = (0..100).map(|n| text(&n.to_string())).collect();
        let known = conversation(&texts);
        let parts: Vec<&Part> = known.parts().collect();
        let (mut cache, count) = counted(100);
        for part in &parts {
            cache.begin_frame();
            cache.block(part, 80, FoldAmount::Cut);
            assert!(cache.rows <= MAX_ROWS);
        }
        assert_eq!(cache.laid.len(), 40);
        cache.block(parts[60], 80, FoldAmount::Cut);
        assert_eq!(count.get(), 100);
        cache.block(parts[59], 80, FoldAmount::Cut);
        assert_eq!(count.get(), 101);
        // Two giants beside each other stay while they are shown.
        let (mut cache, count) = counted(MAX_ROWS);
        for _ in 0..5 {
            cache.begin_frame();
            cache.block(parts[0], 80, FoldAmount::Cut);
            cache.block(parts[1], 80, FoldAmount::Cut);
        }
        assert_eq!(count.get(), 2);
        let mut cache = Cache::new(Box::new(plain));
        cache.block(parts[0], 80, FoldAmount::Cut);
        assert_eq!(cache.rows, 1);
        assert!(cache.bytes > size_of::<ScreenRow>());
    }
}
