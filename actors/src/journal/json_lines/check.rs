//! Reads a journal's file, and looks for damage in it.

use std::io;

use super::super::line::{self, Seal};
use super::super::position::Epoch;
use super::super::{JournalDamage, JournalPage, PageLimit};
use super::damage::{Aside, DamagedPart};
use super::disk::DiskFile;
use super::journal::FileJournal;
use super::lines::{FEW, LineReader, MANY};
use super::pool::lock;
use super::scan::LineScan;
use super::search;
use crate::storage::StorageError;

/// Maximum number of bytes that are checked at once: readers of other journals wait for at most that.
pub(super) const PART: u64 = 8 * 1024 * 1024;

/// The findings of a check.
#[derive(Default)]
pub(super) struct Checked {
    /// The epoch of the journal that was checked.
    epoch: Option<Epoch>,
    /// The byte up to which it was checked.
    upto: u64,
    /// The number of the last record before that.
    last: u64,
    /// The damage that was found there.
    found: JournalDamage,
    /// The damage that was cut off after it.
    cut: JournalDamage,
}

fn add(sum: &mut JournalDamage, part: &JournalDamage) {
    sum.parts += part.parts;
    sum.bytes += part.bytes;
}

impl Checked {
    /// Adds a torn end that was set aside and removed.
    pub(super) fn was_cut(&mut self, damage: &JournalDamage) {
        add(&mut self.cut, damage);
    }
}

/// The end of a part of the lines between two offsets.
fn part_end(file: &dyn DiskFile, from: u64, end: u64) -> io::Result<u64> {
    if end.saturating_sub(from) <= PART {
        return Ok(end);
    }
    Ok(LineReader::behind(file, from + PART, end, FEW)?.offset())
}

impl FileJournal {
    /// A part of [`super::super::Journal::check`]. `None` if there is more to check.
    pub(super) fn check(&self) -> Result<Option<JournalDamage>, StorageError> {
        let mut checked = lock(&self.checked);
        let shown = self.published();
        let Some(file) = &shown.file else {
            return Ok(Some(JournalDamage::default()));
        };
        let epoch = shown.end.position.epoch;
        if checked.epoch != Some(epoch) {
            checked.upto = shown.start.bytes;
            checked.last = 0;
            checked.found = JournalDamage::default();
            checked.epoch = Some(epoch);
        }
        let mut aside = Aside::new(&self.shared.folder, &self.id);
        let mut copied = Ok(());
        let mut copy = |part: &DamagedPart<'_>| {
            if copied.is_ok() {
                copied = aside.add(part);
            }
            Ok(())
        };
        let max = shown.end.position.seq;
        let end = shown.end.bytes;
        let read = |error: io::Error| self.failed("read", &error);
        let to = part_end(&**file, checked.upto, end).map_err(read)?;
        let mut scan = LineScan::new(Seal::new(epoch), checked.last);
        scan.run(&**file, (checked.upto, to), max, |_, _| Ok(()), &mut copy)
            .map_err(read)?;
        let (found, last) = (scan.damage.clone(), scan.last);
        if to == end {
            let torn = (end, end + shown.torn);
            scan.run(&**file, torn, 0, |_, _| Ok(()), &mut copy)
                .map_err(read)?;
        }
        let mut damage = checked.found.clone();
        add(&mut damage, &scan.damage);
        add(&mut damage, &checked.cut);
        match copied.and_then(|()| aside.finish()) {
            Ok(()) => {
                add(&mut checked.found, &found);
                checked.upto = to;
                checked.last = last;
                if !damage.is_none() {
                    damage.file = self.shared.folder.damage(&self.id).display().to_string();
                }
            }
            // It is tried again at the next check.
            Err(error) => {
                log::error!("cannot copy the damage of {}: {error}", self.path());
                return Ok(Some(damage));
            }
        }
        Ok((to == end).then_some(damage))
    }

    /// See [`super::super::Journal::read`].
    pub(super) fn page(&self, after: u64, limit: PageLimit) -> Result<JournalPage, StorageError> {
        self.try_page(after, limit)
            .map_err(|error| self.failed("read", &error))
    }

    fn try_page(&self, after: u64, limit: PageLimit) -> io::Result<JournalPage> {
        let shown = self.published();
        let end = shown.end;
        let mut page = JournalPage {
            entries: Vec::new(),
            at_end: true,
        };
        let Some(file) = shown.file.filter(|_| after < end.position.seq) else {
            return Ok(page);
        };
        let next = lock(&self.next_page)
            .filter(|(behind, _)| (behind.epoch, behind.seq) == (end.position.epoch, after));
        let from = match next {
            Some((_, at)) => at,
            None => search::start_of(&*file, shown.start.bytes, end, after)?,
        };
        let at_once = if limit.bytes < MANY { FEW } else { MANY };
        let mut lines = LineReader::new(&*file, from, end.bytes, at_once);
        let epoch = end.position.epoch;
        let seal = Seal::new(epoch);
        let (mut last, mut bytes) = (after, 0);
        while let Some(line) = lines.next()? {
            let Ok(found) = line::find(line.bytes, seal) else {
                continue;
            };
            if !(last + 1..=end.position.seq).contains(&found.seq) {
                continue;
            }
            bytes += found.object_bytes();
            let is_full = page.entries.len() >= limit.records || bytes > limit.bytes;
            if is_full && let Some(behind) = page.entries.last() {
                page.at_end = false;
                *lock(&self.next_page) = Some((behind.position, line.offset));
                break;
            }
            let Some(entry) = line::decode(line.bytes, &found, epoch) else {
                continue;
            };
            last = found.seq;
            page.entries.push(entry);
        }
        Ok(page)
    }
}
