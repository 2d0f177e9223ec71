import type { Http2Session, Http2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../net/clock.ts';
import type { WireCounter } from '../../net/link.ts';
import { GrpcLink } from './link.ts';
import { StreamWindow } from './settings.ts';
import { PeerWatch } from './peer-watch.ts';
import { WireShare } from './wire-share.ts';

export interface TunnelsOptions {
  readonly clock: Clock;
  /** Whether the peer opens the tunnels. */
  readonly limitsTunnels: boolean;
  /** Called whenever the last tunnel is released. */
  readonly onEmpty: () => void;
}

/** The tunnels of one connection with its stream window, its wire counter and its watch. */
export class Tunnels {
  readonly watch: PeerWatch;
  readonly #clock: Clock;
  readonly #share: WireShare;
  readonly #window: StreamWindow;
  readonly #onEmpty: () => void;
  #count = 0;

  /** @param raw the kernel socket below the session. */
  constructor(
    session: Http2Session,
    raw: Socket,
    { clock, limitsTunnels, onEmpty }: TunnelsOptions,
  ) {
    this.watch = new PeerWatch(session, raw, clock);
    this.#clock = clock;
    this.#share = new WireShare(raw);
    this.#window = new StreamWindow(session, limitsTunnels);
    this.#onEmpty = onEmpty;
  }

  get count(): number {
    return this.#count;
  }

  /** Makes a tunnel of a stream, which it then owns. */
  add(stream: Http2Stream): { readonly link: GrpcLink; readonly wire: WireCounter } {
    const wire = this.#share.join();
    const link = new GrpcLink(stream, this.#clock, wire);
    stream.on('data', this.watch.look);
    this.#window.adjust(++this.#count);
    // Not when its stream has closed, which may never happen.
    void link.released.then(() => {
      wire.leave();
      this.#window.adjust(--this.#count);
      if (this.#count === 0) this.#onEmpty();
    });
    return { link, wire };
  }
}
