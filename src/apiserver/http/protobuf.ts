import { badRequest } from '../api-error.ts';

/**
 * Reads the protobuf bodies that kubectl's typed commands send (`create secret|configmap|namespace`, events):
 * the magic `k8s\0`, then runtime.Unknown around the message. Answers are JSON, which those clients accept too.
 * Field numbers are those of Kubernetes' generated.proto files.
 */
export const protobufType = 'application/vnd.kubernetes.protobuf';

type Reader = (bytes: Buffer) => unknown;
interface Field {
  readonly name: string;
  readonly as: 'text' | 'bytes' | 'int' | 'bool' | 'time' | 'microtime' | 'textMap' | 'bytesMap' | Message;
  readonly many?: true;
}
type Message = { readonly fields: () => Readonly<Record<number, Field>> };

const message = (fields: () => Readonly<Record<number, Field>>): Message => ({ fields });
const text = (name: string): Field => ({ name, as: 'text' });
const int = (name: string): Field => ({ name, as: 'int' });
const bool = (name: string): Field => ({ name, as: 'bool' });
const time = (name: string): Field => ({ name, as: 'time' });

const ownerReference = message(() => ({
  1: text('kind'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: bool('controller'),
  7: bool('blockOwnerDeletion'),
}));
const objectMeta = message(() => ({
  1: text('name'),
  2: text('generateName'),
  3: text('namespace'),
  5: text('uid'),
  6: text('resourceVersion'),
  7: int('generation'),
  8: time('creationTimestamp'),
  11: { name: 'labels', as: 'textMap' },
  12: { name: 'annotations', as: 'textMap' },
  13: { name: 'ownerReferences', as: ownerReference, many: true },
  14: { name: 'finalizers', as: 'text', many: true },
}));
const meta: Field = { name: 'metadata', as: objectMeta };
const preconditions = message(() => ({ 1: text('uid'), 2: text('resourceVersion') }));
const objectReference = message(() => ({
  1: text('kind'),
  2: text('namespace'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: text('resourceVersion'),
  7: text('fieldPath'),
}));
const leaseSpec = message(() => ({
  1: text('holderIdentity'),
  2: int('leaseDurationSeconds'),
  3: { name: 'acquireTime', as: 'microtime' },
  4: { name: 'renewTime', as: 'microtime' },
  5: int('leaseTransitions'),
}));

const messages: Readonly<Record<string, Message>> = {
  'v1 Secret': message(() => ({
    1: meta,
    2: { name: 'data', as: 'bytesMap' },
    3: text('type'),
    4: { name: 'stringData', as: 'textMap' },
    5: bool('immutable'),
  })),
  'v1 ConfigMap': message(() => ({
    1: meta,
    2: { name: 'data', as: 'textMap' },
    3: { name: 'binaryData', as: 'bytesMap' },
    4: bool('immutable'),
  })),
  'v1 Namespace': message(() => ({ 1: meta })),
  'v1 Event': message(() => ({
    1: meta,
    2: { name: 'involvedObject', as: objectReference },
    3: text('reason'),
    4: text('message'),
    6: time('firstTimestamp'),
    7: time('lastTimestamp'),
    8: int('count'),
    9: text('type'),
    10: { name: 'eventTime', as: 'microtime' },
    12: text('action'),
    14: text('reportingComponent'),
    15: text('reportingInstance'),
  })),
  'coordination.k8s.io/v1 Lease': message(() => ({ 1: meta, 2: { name: 'spec', as: leaseSpec } })),
  'v1 DeleteOptions': message(() => ({
    1: int('gracePeriodSeconds'),
    2: { name: 'preconditions', as: preconditions },
    3: bool('orphanDependents'),
    4: text('propagationPolicy'),
    5: { name: 'dryRun', as: 'text', many: true },
  })),
};

/** The object in a protobuf body, as JSON would have it. Throws 400 for kinds that are not built in. */
export function readProtobuf(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (body.subarray(0, 4).toString('latin1') !== 'k8s\0')
    throw badRequest('the body does not begin as Kubernetes protobuf does');
  try {
    const envelope = readMessage(unknownEnvelope, body.subarray(4)) as {
      type?: Record<string, string>;
      raw?: string;
    };
    const { apiVersion = '', kind = '' } = envelope.type ?? {};
    const known =
      messages[`${apiVersion} ${kind}`] ??
      (kind === 'DeleteOptions' ? messages['v1 DeleteOptions'] : undefined);
    if (known === undefined) throw badRequest(`${apiVersion} ${kind} cannot be sent as protobuf: send JSON`);
    return { apiVersion, kind, ...(readMessage(known, Buffer.from(envelope.raw ?? '', 'base64')) as object) };
  } catch (error) {
    if (error instanceof RangeError) throw badRequest('the protobuf body is cut short');
    throw error;
  }
}

const unknownEnvelope = message(() => ({
  1: { name: 'type', as: message(() => ({ 1: text('apiVersion'), 2: text('kind') })) },
  2: { name: 'raw', as: 'bytes' },
}));

function readMessage(type: Message, bytes: Buffer): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const fields = type.fields();
  for (const { number, value } of entries(bytes)) {
    const field = fields[number];
    if (field === undefined) continue;
    const read = readValue(field, value);
    if (field.as === 'textMap' || field.as === 'bytesMap') {
      const [key, member] = read as [string, string];
      result[field.name] = { ...(result[field.name] as object), [key]: member };
    } else if (field.many === true) result[field.name] = [...((result[field.name] as unknown[]) ?? []), read];
    else if (read !== undefined) result[field.name] = read;
  }
  return result;
}

function readValue(field: Field, value: bigint | Buffer): unknown {
  const { as } = field;
  if (typeof value === 'bigint') return as === 'bool' ? value !== 0n : Number(BigInt.asIntN(64, value));
  if (typeof as === 'object') return readMessage(as, value);
  const readers: Readonly<Record<string, Reader>> = {
    text: (bytes) => (bytes.length === 0 && field.many !== true ? undefined : bytes.toString('utf8')),
    bytes: (bytes) => bytes.toString('base64'),
    time: (bytes) => readTime(bytes, false),
    microtime: (bytes) => readTime(bytes, true),
    textMap: (bytes) => readPair(bytes, 'utf8'),
    bytesMap: (bytes) => readPair(bytes, 'base64'),
  };
  return readers[as]?.(value);
}

function readPair(bytes: Buffer, encoding: 'utf8' | 'base64'): [string, string] {
  let key = '';
  let member = '';
  for (const { number, value } of entries(bytes)) {
    if (!Buffer.isBuffer(value)) continue;
    if (number === 1) key = value.toString('utf8');
    else if (number === 2) member = value.toString(encoding);
  }
  return [key, member];
}

function readTime(bytes: Buffer, micro: boolean): string | undefined {
  let seconds = 0n;
  let nanos = 0n;
  for (const { number, value } of entries(bytes)) {
    if (typeof value !== 'bigint') continue;
    if (number === 1) seconds = BigInt.asIntN(64, value);
    else if (number === 2) nanos = value;
  }
  if (seconds === 0n || seconds === -62135596800n) return undefined;
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return micro ? `${whole}.${String(nanos / 1000n).padStart(6, '0')}Z` : `${whole}Z`;
}

/** The fields of one message: varints as bigint, length-delimited ones as bytes. */
function* entries(bytes: Buffer): Generator<{ number: number; value: bigint | Buffer }> {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('varint too long');
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    if (wire === 0) yield { number: tag >>> 3, value: varint() };
    else if (wire === 2) {
      const length = Number(varint());
      if (at + length > bytes.length) throw new RangeError('field too long');
      yield { number: tag >>> 3, value: bytes.subarray(at, at + length) };
      at += length;
    } else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else throw new RangeError('unknown wire type');
  }
}
