import type { LogReading } from './log-file.ts';

/** Offsets in the first page: https://sqlite.org/fileformat2.html#the_database_header */
const header = { pageSize: 16, versions: 18, changes: 24, pages: 28, validFor: 92 } as const;
/** Pages at a database's end that may be missing. */
const mostMissing = 10_000;
const magic = 'SQLite format 3\0';

/**
 * A database as it would be had everything in its log that can still be read been carried over, also what follows a
 * damaged place. Pages of `fresh`, a new file, stand where there are none, and for a first page that is no SQLite
 * database's: it tells where tables begin.
 */
export function imageOf(database: Buffer, log: Buffer, reading: LogReading, fresh: Buffer): Buffer {
  const { pageSize } = reading;
  const frames = reading.frames.filter(({ chained, current }) => chained && current);
  const end = frames.findLastIndex(({ commit }) => commit > 0);
  const written = frames.slice(0, end + 1);
  const held = Math.ceil(database.length / pageSize);
  // As many as it had, also when its end is gone: what leads there must lead somewhere.
  const said = pagesSaid(database, held);
  const pages = Math.max(fresh.length / pageSize, held, said, written.at(-1)?.commit ?? 0);
  const image = Buffer.alloc(pages * pageSize);
  fresh.copy(image);
  database.copy(image, 0, 0, Math.min(database.length, image.length));
  for (const { page, offset } of written.filter(({ page }) => page <= pages))
    log.copy(image, (page - 1) * pageSize, offset, offset + pageSize);
  if (!isFirstPage(image, pageSize)) fresh.copy(image, 0, 0, pageSize);
  settleHeader(image, pages);
  return image;
}

/** By its header, as far as that can be believed. */
function pagesSaid(database: Buffer, held: number): number {
  const said = database.length >= 100 ? database.readUInt32BE(header.pages) : 0;
  return said <= held + mostMissing ? said : 0;
}

function isFirstPage(image: Buffer, pageSize: number): boolean {
  const said = image.readUInt16BE(header.pageSize);
  return image.toString('latin1', 0, 16) === magic && (said === 1 ? 65_536 : said) === pageSize;
}

/** It is a plain file, without a log, of as many pages as there are. */
function settleHeader(image: Buffer, pages: number): void {
  image.writeUInt16BE(0x0101, header.versions);
  image.writeUInt32BE(pages, header.pages);
  image.copy(image, header.validFor, header.changes, header.changes + 4);
}
