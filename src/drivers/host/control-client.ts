import { connect, type Socket } from 'node:net';
import { onLines } from './lines.ts';
import type { CommandLine, StateLine } from './shim/control-server.ts';

export interface ControlConnection {
  send(command: CommandLine): void;
  close(): void;
}

/**
 * Connects to a shim's control socket. `onState` gets the state now and at each change; `onClose` is called
 * once when the connection is over or could not be made, which means that the shim is gone.
 */
export function connectControl(
  path: string,
  onState: (line: StateLine) => void,
  onClose: () => void,
): ControlConnection {
  const socket = connect(path);
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('close', () => {
    if (!isClosed) onClose();
    isClosed = true;
  });
  onLines(socket, (line) => {
    const state = isClosed ? undefined : parseState(line);
    if (state !== undefined) onState(state);
  });
  return {
    send: (command) => write(socket, command),
    close() {
      isClosed = true;
      socket.destroy();
    },
  };
}

/** Undefined for what no shim sends: a line that is none must not end the controller. */
function parseState(line: string): StateLine | undefined {
  try {
    return JSON.parse(line) as StateLine;
  } catch {
    return undefined;
  }
}

function write(socket: Socket, command: CommandLine): void {
  if (socket.writable) socket.write(`${JSON.stringify(command)}\n`);
}
