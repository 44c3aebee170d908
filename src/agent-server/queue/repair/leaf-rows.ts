import type { Row } from './salvage.ts';

/*
 * Rows read from the pages that hold them, without the pages that lead there.
 * The format: https://sqlite.org/fileformat2.html#b_tree_pages
 */

type Value = string | number | bigint | null | Uint8Array;

/** Type of a page that holds rows of a table. */
const tableLeaf = 13;
const trunkOffset = 32;

/** Every row of as many columns that some page in use holds, of whichever table. The first column is the rowid. */
export function* leafRows(image: Buffer, pageSize: number, columns: readonly string[]): Generator<Row> {
  const free = freePages(image, pageSize);
  for (let page = 1; page <= image.length / pageSize; page += 1) {
    if (free.has(page)) continue;
    const start = (page - 1) * pageSize + (page === 1 ? 100 : 0);
    if (image[start] !== tableLeaf) continue;
    const count = image.readUInt16BE(start + 3);
    for (let index = 0; index < count && 8 + 2 * index + 2 <= pageSize; index += 1) {
      const row = tryRead(() => readCell(image, pageSize, page, start + 8 + 2 * index, columns));
      if (row !== undefined) yield row;
    }
  }
}

/** Pages that were given back: what is in them was deleted or moved. */
function freePages(image: Buffer, pageSize: number): Set<number> {
  const free = new Set<number>();
  let trunk = image.readUInt32BE(trunkOffset);
  while (trunk > 0 && trunk * pageSize <= image.length && !free.has(trunk)) {
    free.add(trunk);
    const start = (trunk - 1) * pageSize;
    const count = Math.min(image.readUInt32BE(start + 4), pageSize / 4 - 2);
    for (let index = 0; index < count; index += 1) free.add(image.readUInt32BE(start + 8 + 4 * index));
    trunk = image.readUInt32BE(start);
  }
  return free;
}

function readCell(
  image: Buffer,
  pageSize: number,
  page: number,
  pointer: number,
  columns: readonly string[],
): Row | undefined {
  const at = (page - 1) * pageSize + image.readUInt16BE(pointer);
  const [length, afterLength] = readVarint(image, at);
  const [rowid, begin] = readVarint(image, afterLength);
  if (length > image.length) return undefined;
  const values = readRecord(readPayload(image, pageSize, begin, length));
  if (values.length !== columns.length) return undefined;
  return Object.fromEntries(
    columns.map((name, index) => [name, index === 0 ? rowid : (values[index] ?? null)]),
  );
}

/** What is stored in the cell, and the rest from the pages behind it. */
function readPayload(image: Buffer, pageSize: number, begin: number, length: number): Buffer {
  const most = pageSize - 35;
  const least = Math.floor(((pageSize - 12) * 32) / 255) - 23;
  const rest = least + ((length - least) % (pageSize - 4));
  const local = length <= most ? length : rest <= most ? rest : least;
  const parts = [image.subarray(begin, begin + local)];
  let missing = length - local;
  let next = missing > 0 ? image.readUInt32BE(begin + local) : 0;
  while (missing > 0 && next > 0) {
    const start = (next - 1) * pageSize;
    const taken = Math.min(missing, pageSize - 4);
    parts.push(image.subarray(start + 4, start + 4 + taken));
    missing -= taken;
    next = image.readUInt32BE(start);
  }
  return Buffer.concat(parts);
}

function readRecord(record: Buffer): Value[] {
  const [headerLength, first] = readVarint(record, 0);
  const values: Value[] = [];
  let at = headerLength;
  for (let place = first; place < headerLength; ) {
    const [type, next] = readVarint(record, place);
    const [value, end] = readValue(record, at, type);
    values.push(value);
    [place, at] = [next, end];
  }
  return values;
}

/** Bytes of numbers by their type. */
const numberBytes = [0, 1, 2, 3, 4, 6, 8];

function readValue(record: Buffer, at: number, type: number): [Value, number] {
  if (type === 0) return [null, at];
  if (type === 8 || type === 9) return [type - 8, at];
  if (type === 7) return [record.readDoubleBE(at), at + 8];
  const size = numberBytes[type];
  if (size === 8) return [Number(record.readBigInt64BE(at)), at + 8];
  if (size !== undefined) return [record.readIntBE(at, size), at + size];
  const length = Math.floor((type - 12) / 2);
  const bytes = record.subarray(at, at + length);
  if (type < 12 || bytes.length < length) throw new RangeError('the record ends too soon');
  return [type % 2 === 1 ? bytes.toString('utf8') : Uint8Array.from(bytes), at + length];
}

function readVarint(bytes: Buffer, at: number): [number, number] {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes.readUInt8(at + index);
    value = value * 128 + (byte & 127);
    if (byte < 128) return [value, at + index + 1];
  }
  return [value * 256 + bytes.readUInt8(at + 8), at + 9];
}

function tryRead<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
