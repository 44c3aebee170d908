/**
 * What agent-server and spawner say to each other over one stream socket, in both directions frames of
 *
 *     u32 LE payload length · u8 frame type · u32 LE id · payload
 *
 * The id is a template's for `define` and `forget`, 0 for `sweep`, else a call's. Ids are the agent-server's
 * and never used twice on one connection. When either side reads end-of-file, the spawner ends every process
 * that it started and then itself.
 */
export const frameTypes = {
  /** → JSON `Template`: what later `spawn` frames refer to. Defining an id again replaces it for later calls. */
  define: 1,
  /** → empty. Prewarmed processes of the template end; calls that run go on. */
  forget: 2,
  /** → u32 LE template id, then the bytes for stdin, which is then closed. */
  spawn: 3,
  /** → empty. SIGTERM to everything of the call, SIGKILL after the template's grace. Answered by `exit`. */
  kill: 4,
  /** → a generation: everything that an earlier spawner of this generation left behind is killed. */
  sweep: 5,
  /** → one line of JSON for the tool's fd 3. Ignored when the tool has closed it. */
  answer: 6,

  /** ← u32 LE pid. */
  started: 16,
  /** ← bytes. */
  stdout: 17,
  /** ← bytes. */
  stderr: 18,
  /** ← one line of JSON that the tool wrote to fd 3, without its line end. */
  event: 19,
  /** ← JSON `Exit`. The last frame of a call that started; nothing of it runs any more. */
  exit: 20,
  /** ← JSON `SpawnFailure`. The only frame of a call that could not start. */
  failed: 21,
  /** ← empty. The spawner is ready. */
  ready: 22,
} as const;

/** How to start one kind of process. */
export interface Template {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment but for `markerName`, which the spawner adds. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes of stdout after which the call is killed and reported as `overflow`. */
  readonly maxStdout: number;
  /** Bytes of stderr that are passed on; the rest is read and dropped. */
  readonly maxStderr: number;
  /** Bytes of one line on fd 3; a longer one is dropped. */
  readonly maxEvent: number;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** How many processes wait, started and blocked on stdin. */
  readonly prewarm: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The output limit was reached and the rest was dropped. */
  readonly overflow: boolean;
}

export interface SpawnFailure {
  /** `ENOENT`, `EACCES`, `E2BIG`… */
  readonly code: string;
  /** As Node words it: `spawn /code/nope.sh ENOENT`. */
  readonly message: string;
}

/**
 * Environment variable that marks every process of a call, `<generation>.<number>`: how the spawner finds
 * children that left the process group (setsid, double fork).
 */
export const markerName = 'PLOINKY_CALL';

export interface Frame {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

const headerBytes = 9;
const noBytes = Buffer.alloc(0);

/** Larger payloads are a broken peer. */
const maxFrameBytes = 64 * 1024 * 1024;

export function encodeFrame(type: number, id: number, payload: Uint8Array = noBytes): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame.writeUInt8(type, 4);
  frame.writeUInt32LE(id, 5);
  frame.set(payload, headerBytes);
  return frame;
}

export function encodeJsonFrame(type: number, id: number, value: unknown): Buffer {
  return encodeFrame(type, id, Buffer.from(JSON.stringify(value)));
}

/** `spawn` with its template id in front of the stdin bytes. */
export function encodeSpawn(call: number, template: number, stdin: string): Buffer {
  const size = Buffer.byteLength(stdin);
  const frame = Buffer.allocUnsafe(headerBytes + 4 + size);
  frame.writeUInt32LE(4 + size, 0);
  frame.writeUInt8(frameTypes.spawn, 4);
  frame.writeUInt32LE(call, 5);
  frame.writeUInt32LE(template, headerBytes);
  frame.write(stdin, headerBytes + 4, 'utf8');
  return frame;
}

/** Cuts a stream into frames. Throws when a frame is larger than maxFrameBytes. */
export function createFrameDecoder(): { push(chunk: Buffer): Frame[] } {
  let parts: Buffer[] = [];
  let held = 0;
  let needed = headerBytes;
  return {
    push(chunk) {
      parts.push(chunk);
      held += chunk.length;
      if (held < needed) return [];
      const { frames, rest, missing } = cutFrames(parts.length === 1 ? chunk : Buffer.concat(parts, held));
      parts = rest.length === 0 ? [] : [rest];
      held = rest.length;
      needed = missing;
      return frames;
    },
  };
}

/** `missing`: how many bytes the next frame needs before it is worth looking again. */
function cutFrames(bytes: Buffer): { frames: Frame[]; rest: Buffer; missing: number } {
  const frames: Frame[] = [];
  let at = 0;
  while (bytes.length - at >= headerBytes) {
    const length = bytes.readUInt32LE(at);
    if (length > maxFrameBytes) throw new Error(`A frame of ${length} bytes is larger than ${maxFrameBytes}`);
    const end = at + headerBytes + length;
    if (end > bytes.length) return { frames, rest: bytes.subarray(at), missing: end - at };
    const payload = bytes.subarray(at + headerBytes, end);
    frames.push({ type: bytes.readUInt8(at + 4), id: bytes.readUInt32LE(at + 5), payload });
    at = end;
  }
  return { frames, rest: bytes.subarray(at), missing: headerBytes };
}
