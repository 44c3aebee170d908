import type { ServerResponse } from 'node:http';

/** Longer bodies are written in pieces of so many bytes. */
export const pieceBytes = 64 * 1024;

/**
 * Writes pieces until the client has to read first; what is left then. Of one long write nobody sees how much the client
 * has taken before it has taken all: a slow one would look as if it did not read.
 */
export function writePieces(client: ServerResponse, bytes: Buffer): Buffer {
  let left = bytes;
  while (left.length > 0) {
    const piece = left.subarray(0, pieceBytes);
    left = left.subarray(piece.length);
    if (!client.write(piece)) break;
  }
  return left;
}

/** The whole body of an answer whose head is written. */
export function endWith(client: ServerResponse, text: string, encoding: 'latin1' | 'utf8'): void {
  if (text.length <= pieceBytes) client.end(text, encoding);
  else endInPieces(client, Buffer.from(text, encoding));
}

function endInPieces(client: ServerResponse, bytes: Buffer): void {
  const left = writePieces(client, bytes);
  if (left.length === 0) client.end();
  else client.once('drain', () => endInPieces(client, left));
}
