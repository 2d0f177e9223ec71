import assert from 'node:assert/strict';
import type {
  FrameError,
  FrameVisitor,
  StreamFrameVisitor,
} from '../../../packages/quic/src/wire/frame-types.ts';

type FrameName = Exclude<keyof FrameVisitor, 'streams'> | keyof StreamFrameVisitor;

/** A call of a `FrameVisitor`: its name, and its numbers with copies of bytes in the place of their ranges. */
export type FrameCall = readonly [
  name: FrameName,
  ...parts: readonly (number | boolean | Buffer)[],
];

const METHODS = [
  'ping',
  'ackStart',
  'ackRange',
  'ackEnd',
  'resetStream',
  'stopSending',
  'crypto',
  'newToken',
  'stream',
  'maxData',
  'maxStreamData',
  'maxStreams',
  'dataBlocked',
  'streamDataBlocked',
  'streamsBlocked',
  'newConnectionId',
  'retireConnectionId',
  'pathChallenge',
  'pathResponse',
  'connectionClose',
  'applicationClose',
  'handshakeDone',
  'datagram',
] as const satisfies readonly FrameName[];

/** Frames whose bytes have a fixed length. */
const SIZES: Readonly<Record<string, number>> = { pathChallenge: 8, pathResponse: 8 };

function copied(name: string, parts: readonly unknown[]): (number | boolean | Buffer)[] {
  const at = parts.findIndex((part) => part instanceof Uint8Array);
  if (at < 0) return parts as (number | boolean)[];
  const bytes = parts[at] as Uint8Array;
  const range = (start: number, size: number): Buffer => {
    assert.ok(start >= 0 && size >= 0 && start + size <= bytes.length, name);
    return Buffer.from(bytes.subarray(start, start + size));
  };
  const before = parts.slice(0, at) as (number | boolean)[];
  const fixed = SIZES[name];
  const data = range(parts[at + 1] as number, fixed ?? (parts[at + 2] as number));
  const rest = parts.slice(at + (fixed === undefined ? 3 : 2));
  if (name === 'newConnectionId') return [...before, data, range(rest[0] as number, 16)];
  return [...before, data, ...(rest as (number | boolean)[])];
}

/** Records the frames that are read into `calls`. @param verdict what the visitor says of a frame. */
export function frameRecorder(
  calls: FrameCall[],
  verdict: (name: string) => FrameError = () => undefined,
): FrameVisitor {
  const methods = METHODS.map((name) => [
    name,
    (...parts: readonly unknown[]): FrameError => {
      calls.push([name, ...copied(name, parts)]);
      return verdict(name);
    },
  ]);
  const visitor = Object.fromEntries(methods) as Omit<FrameVisitor, 'streams'> & StreamFrameVisitor;
  return { ...visitor, streams: visitor };
}
