/*
 * SQLite reads its write-ahead log up to the first frame that is not whole and takes that for the end. After a power
 * loss that is right; after a bit that a medium turned over it forgets all that was acknowledged later, and says
 * nothing. Here the log is read to its end. The format: https://sqlite.org/fileformat2.html#the_write_ahead_log
 */

export interface LogFrame {
  /** Number of the page, from 1. */
  readonly page: number;
  /** Pages of the database after the transaction that this frame ends; 0 within one. */
  readonly commit: number;
  /** Where the page's bytes begin in the log. */
  readonly offset: number;
  /** Chained to the frame before, as SQLite demands it. */
  readonly chained: boolean;
  /** Of what the header says is the present generation of the log. */
  readonly current: boolean;
}

export interface LogReading {
  readonly pageSize: number;
  readonly frames: readonly LogFrame[];
  /**
   * `torn`: its end was not written whole, as when the power goes; what is missing was hardly acknowledged.
   * `damaged`: what was acknowledged follows something that cannot be read.
   */
  readonly state: 'whole' | 'torn' | 'damaged';
}

const headerBytes = 32;
const frameHeaderBytes = 24;
/** The one that SQLite makes new files with. */
const usualPageSize = 4096;

/** Times that a log was begun anew since some frame in it was written. */
const mostUses = 2 ** 20;

type Sum = readonly [number, number];

/** Reads a whole log; empty for one that is empty or not there. */
export function readLog(log: Buffer): LogReading {
  if (log.length === 0) return { pageSize: usualPageSize, frames: [], state: 'whole' };
  if (log.length < headerBytes) return { pageSize: usualPageSize, frames: [], state: 'torn' };
  const header = readHeader(log);
  const frames = readFrames(log, header);
  return { pageSize: header.pageSize, frames, state: stateOf(log, header, frames) };
}

interface Header {
  readonly isWhole: boolean;
  readonly pageSize: number;
  readonly isLittleEndian: boolean;
  readonly salts: string;
  /** What the first frame may be chained to. */
  readonly sums: readonly Sum[];
}

function readHeader(log: Buffer): Header {
  const isLittleEndian = (log.readUInt32BE(0) & 1) === 0;
  const said = sumAt(log, 24);
  const computed = addTo([0, 0], log, 0, 24, isLittleEndian);
  const isWhole = isSame(said, computed) && log.readUInt32BE(0) >>> 1 === 0x377f0682 >>> 1;
  return {
    isWhole,
    pageSize: isWhole ? log.readUInt32BE(8) : usualPageSize,
    isLittleEndian: isWhole ? isLittleEndian : true,
    // The first frame has the same.
    salts: isWhole ? log.toString('latin1', 16, 24) : log.toString('latin1', 40, 48),
    sums: [said, computed],
  };
}

function readFrames(log: Buffer, { pageSize, isLittleEndian, salts, sums }: Header): LogFrame[] {
  const frames: LogFrame[] = [];
  let before = sums;
  const size = frameHeaderBytes + pageSize;
  for (let at = headerBytes; at + size <= log.length; at += size) {
    const said = sumAt(log, at + 16);
    const offset = at + frameHeaderBytes;
    // What the frame before says of itself may be what is damaged: then what it should have said counts.
    const computed = before.map((sum) => {
      const begun = addTo(sum, log, at, at + 8, isLittleEndian);
      return addTo(begun, log, offset, offset + pageSize, isLittleEndian);
    });
    frames.push({
      page: log.readUInt32BE(at),
      commit: log.readUInt32BE(at + 4),
      offset,
      chained: computed.some((sum) => isSame(sum, said)),
      current: log.toString('latin1', at + 8, at + 16) === salts,
    });
    const [first = said] = computed;
    before = isSame(first, said) ? [said] : [said, first];
  }
  return frames;
}

function stateOf(log: Buffer, header: Header, frames: readonly LogFrame[]): LogReading['state'] {
  if (!header.isWhole)
    return frames.some(({ chained, commit }) => chained && commit > 0) ? 'damaged' : 'torn';
  for (const [index, frame] of frames.entries()) {
    // A transaction is begun when the one before is on disk: a second end, or one after an end, was acknowledged.
    const commits = isGood(frame) ? 0 : commitsFrom(frames, index + 1);
    if (commits > 1 || (commits === 1 && wasEnd(log, header, frame))) return 'damaged';
  }
  const end = frames.findIndex((frame) => !isGood(frame));
  const good = end === -1 ? frames : frames.slice(0, end);
  const next = frames[good.length];
  const isUnfinished = good.length > 0 && good.at(-1)?.commit === 0;
  const hasMore = next !== undefined && !isOfEarlierUse(log, next);
  const hasPiece = (log.length - headerBytes) % (frameHeaderBytes + header.pageSize) !== 0;
  return isUnfinished || hasMore || hasPiece ? 'torn' : 'whole';
}

/** A frame that is not whole ended a transaction: it says so, or it would be whole if it did. */
function wasEnd(log: Buffer, header: Header, { commit, chained, current, offset }: LogFrame): boolean {
  // Sums do not cover the salts: it is whole but for them.
  if (!current) return chained && commit > 0;
  if (commit > 0) return true;
  const at = offset - frameHeaderBytes;
  const before = at === headerBytes ? 24 : at - header.pageSize - frameHeaderBytes + 16;
  const sum = sumAt(log, before);
  const copy = Buffer.from(log.subarray(at, offset + header.pageSize));
  for (let bit = 0; bit < 32; bit += 1) {
    copy.writeUInt32BE((1 << bit) >>> 0, 4);
    const begun = addTo(sum, copy, 0, 8, header.isLittleEndian);
    if (isSame(addTo(begun, copy, frameHeaderBytes, copy.length, header.isLittleEndian), sumAt(copy, 16))) {
      return true;
    }
  }
  return false;
}

/** The log is used from its beginning again and again, each time with one salt counted up and another one made anew. */
function isOfEarlierUse(log: Buffer, { offset }: LogFrame): boolean {
  const at = offset - frameHeaderBytes;
  const age = (log.readUInt32BE(16) - log.readUInt32BE(at + 8)) >>> 0;
  return age > 0 && age < mostUses && log.readUInt32BE(20) !== log.readUInt32BE(at + 12);
}

const isGood = ({ chained, current }: LogFrame) => chained && current;

/** Ends of transactions in the run of good frames that begins there. */
function commitsFrom(frames: readonly LogFrame[], begin: number): number {
  let commits = 0;
  for (let index = begin; index < frames.length; index += 1) {
    const frame = frames[index];
    if (frame === undefined || !isGood(frame)) break;
    if (frame.commit > 0) commits += 1;
  }
  return commits;
}

function addTo(sum: Sum, bytes: Buffer, from: number, to: number, isLittleEndian: boolean): Sum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let [first, second] = sum;
  for (let at = from; at < to; at += 8) {
    first = (first + view.getUint32(at, isLittleEndian) + second) >>> 0;
    second = (second + view.getUint32(at + 4, isLittleEndian) + first) >>> 0;
  }
  return [first, second];
}

function sumAt(bytes: Buffer, offset: number): Sum {
  return [bytes.readUInt32BE(offset), bytes.readUInt32BE(offset + 4)];
}

function isSame(left: Sum, right: Sum): boolean {
  return left[0] === right[0] && left[1] === right[1];
}
