import { connectionError, type Http2Error } from './errors.ts';
import { readUint32, writeUint32 } from '@weir/base/bytes';
import { SETTING_BYTES } from './frames.ts';
import { FRAME_LIMIT, SETTINGS_LIMIT, WINDOW_LIMIT } from '../limits.ts';

/** Parameters of SETTINGS (RFC 9113 §6.5.2); omitted ones keep their values. */
export interface Http2Settings {
  readonly headerTableSize?: number;
  readonly enablePush?: boolean;
  readonly maxConcurrentStreams?: number;
  readonly initialWindowSize?: number;
  readonly maxFrameSize?: number;
  readonly maxHeaderListSize?: number;
}

const Id = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

const LARGEST_FRAME = 2 ** 24 - 1;
export const INITIAL_WINDOW = 65_535;

/** Encodes the payload of a SETTINGS frame. */
export function encodeSettings(settings: Http2Settings): Uint8Array {
  const pairs: [id: number, value: number | undefined][] = [
    [Id.HEADER_TABLE_SIZE, settings.headerTableSize],
    [Id.ENABLE_PUSH, settings.enablePush === undefined ? undefined : Number(settings.enablePush)],
    [Id.MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams],
    [Id.INITIAL_WINDOW_SIZE, settings.initialWindowSize],
    [Id.MAX_FRAME_SIZE, settings.maxFrameSize],
    [Id.MAX_HEADER_LIST_SIZE, settings.maxHeaderListSize],
  ];
  const out = new Uint8Array(pairs.length * SETTING_BYTES);
  let at = 0;
  for (const [id, value] of pairs) {
    if (value === undefined) continue;
    out[at + 1] = id;
    writeUint32(out, at + 2, value);
    at += SETTING_BYTES;
  }
  return out.subarray(0, at);
}

/** The peer's parameters, initially those of RFC 9113 §6.5.2. */
export class PeerSettings {
  headerTableSize = 4096;
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindowSize = INITIAL_WINDOW;
  maxFrameSize = FRAME_LIMIT;
  maxHeaderListSize = Number.POSITIVE_INFINITY;

  /**
   * Applies the parameters of a SETTINGS frame in order; unknown ones are ignored.
   *
   * @param fromServer whether the peer is a server, which cannot enable server push (§6.5.2).
   */
  apply(payload: Uint8Array, fromServer: boolean): Http2Error | undefined {
    if (payload.length % SETTING_BYTES !== 0) {
      return connectionError('FRAME_SIZE_ERROR', 'SETTINGS has an incomplete parameter');
    }
    if (payload.length > SETTINGS_LIMIT * SETTING_BYTES) {
      return connectionError('ENHANCE_YOUR_CALM', 'SETTINGS has too many parameters');
    }
    for (let at = 0; at < payload.length; at += SETTING_BYTES) {
      const id = ((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0);
      const error = this.#set(id, readUint32(payload, at + 2), fromServer);
      if (error) return error;
    }
    return undefined;
  }

  #set(id: number, value: number, fromServer: boolean): Http2Error | undefined {
    switch (id) {
      case Id.HEADER_TABLE_SIZE:
        this.headerTableSize = value;
        return undefined;
      case Id.ENABLE_PUSH:
        if (value > 1 || (fromServer && value === 1)) {
          return connectionError('PROTOCOL_ERROR', 'ENABLE_PUSH has an invalid value');
        }
        return undefined;
      case Id.MAX_CONCURRENT_STREAMS:
        this.maxConcurrentStreams = value;
        return undefined;
      case Id.INITIAL_WINDOW_SIZE:
        if (value > WINDOW_LIMIT) {
          return connectionError('FLOW_CONTROL_ERROR', 'INITIAL_WINDOW_SIZE is too large');
        }
        this.initialWindowSize = value;
        return undefined;
      case Id.MAX_FRAME_SIZE:
        if (value < FRAME_LIMIT || value > LARGEST_FRAME) {
          return connectionError('PROTOCOL_ERROR', 'MAX_FRAME_SIZE has an invalid value');
        }
        this.maxFrameSize = value;
        return undefined;
      case Id.MAX_HEADER_LIST_SIZE:
        this.maxHeaderListSize = value;
        return undefined;
      default:
        return undefined;
    }
  }
}

interface Announced {
  readonly settings: Http2Settings;
  readonly onAck: (() => void) | undefined;
}

/** The settings of this side. They take effect once the peer has acknowledged them (RFC 9113 §6.5.3). */
export class LocalSettings {
  /** Unacknowledged SETTINGS frames, in order. */
  readonly #announced: Announced[] = [];
  /** The initial receive window of a stream in bytes: the larger one while a change is unacknowledged. */
  window = INITIAL_WINDOW;
  /** The most recently announced window in bytes. */
  announcedWindow: number;
  /** Maximum number of concurrent streams of the peer. */
  streamLimit: number;

  constructor(initial: Http2Settings) {
    this.announcedWindow = initial.initialWindowSize ?? INITIAL_WINDOW;
    this.streamLimit = initial.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
  }

  /** Number of unacknowledged changes. */
  get pending(): number {
    return this.#announced.length;
  }

  /** Applies a change, or the first settings. @returns the payload of SETTINGS to send. */
  change(settings: Http2Settings, onAck: (() => void) | undefined): Uint8Array {
    const { initialWindowSize, maxConcurrentStreams } = settings;
    if (initialWindowSize !== undefined) {
      this.announcedWindow = initialWindowSize;
      this.window = Math.max(this.window, initialWindowSize);
    }
    if (maxConcurrentStreams !== undefined) {
      this.streamLimit = Math.max(this.streamLimit, maxConcurrentStreams);
    }
    this.#announced.push({ settings, onAck });
    return encodeSettings(settings);
  }

  /** Called when the peer has acknowledged the oldest change. Returns false if there is none. */
  acknowledged(): boolean {
    const next = this.#announced.shift();
    if (!next) return false;
    const { initialWindowSize, maxConcurrentStreams } = next.settings;
    // Larger values announced later are in effect already.
    if (initialWindowSize !== undefined) {
      this.window = this.#largest(initialWindowSize, (each) => each.initialWindowSize);
    }
    if (maxConcurrentStreams !== undefined) {
      this.streamLimit = this.#largest(maxConcurrentStreams, (each) => each.maxConcurrentStreams);
    }
    next.onAck?.();
    return true;
  }

  #largest(value: number, of: (settings: Http2Settings) => number | undefined): number {
    return Math.max(value, ...this.#announced.map(({ settings }) => of(settings) ?? 0));
  }
}
