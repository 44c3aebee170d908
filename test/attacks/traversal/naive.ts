import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';

/** A file server as people write them: it decodes what it is given, more than once, and joins it to its folder. */
export function naiveServer(folder: string): Server {
  return createServer((request, response) => {
    readFile(join(folder, decoded(decoded((request.url ?? '').slice('/demo/'.length))))).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    );
  });
}

function decoded(text: string): string {
  const bytes = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const wide = bytes.replaceAll('\xc0\xae', '.').replaceAll('\xc0\xaf', '/');
  const wider = wide.replaceAll('\xe0\x80\xae', '.').replaceAll('\xe0\x80\xaf', '/');
  return wider.replaceAll('\\', '/').replace(/\0.*$/s, '');
}
