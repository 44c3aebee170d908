import { connect } from 'node:net';

export interface Asked {
  readonly text: string;
  /** Nothing came for too long. */
  readonly hung: boolean;
}

/** One GET on a connection of its own, with the path exactly as it is. `limitMs` is how long it may take. */
export function ask(base: string, path: string, limitMs = 10_000): Promise<Asked> {
  const { host, hostname, port } = new URL(base);
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let size = 0;
    const socket = connect(Number(port), hostname);
    const end = (hung: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: Buffer.concat(parts).toString('latin1'), hung });
    };
    const timer = setTimeout(() => end(true), limitMs);
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      size += part.length;
      if (size > 1_000_000) end(false);
    });
    socket.on('error', () => end(false)).on('close', () => end(false));
    socket.write(Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`, 'latin1'));
  });
}
