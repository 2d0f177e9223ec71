import { Bbr } from '../../congestion/bbr/bbr.ts';
import { Brutal } from '../../congestion/brutal.ts';
import type { CongestionController } from '../../congestion/controller.ts';
import { Cubic } from '../../congestion/cubic.ts';
import { NewReno } from '../../congestion/new-reno.ts';
import { SendControl } from '../../congestion/send-control.ts';
import type { RandomSource } from '../../crypto/random-source.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { ConnectionSettings } from './connection-settings.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import type { Path } from '../path/path.ts';

/** The congestion control of a connection's paths: that of its settings, or a fixed rate. */
export class SendRates {
  readonly #kind: ConnectionSettings['congestion'];
  readonly #random: RandomSource;
  /** Bytes per millisecond; 0 for none. */
  #fixed = 0;

  constructor(kind: ConnectionSettings['congestion'], random: RandomSource) {
    this.#kind = kind;
    this.#random = random;
  }

  /** For a new path. */
  create(): SendControl {
    return new SendControl(this.#controller(MIN_DATAGRAM), MIN_DATAGRAM);
  }

  /** @param path in use; later ones have the same rate. */
  useFixedRate(bytesPerSecond: number, path: Path<IpEndpoint>): void {
    if (bytesPerSecond <= 0) return;
    this.#fixed = bytesPerSecond / 1000;
    path.control.use(this.#controller(path.mtu.current));
  }

  #controller(mtu: number): CongestionController {
    if (this.#fixed > 0) return new Brutal(this.#fixed, mtu);
    switch (this.#kind) {
      case 'bbr':
        return new Bbr(mtu, this.#random);
      case 'cubic':
        return new Cubic(mtu);
      case 'newreno':
        return new NewReno(mtu);
      default:
        return this.#kind satisfies never;
    }
  }
}
