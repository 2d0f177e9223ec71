import { Bbr } from '../../congestion/bbr/bbr.ts';
import { Brutal } from '../../congestion/brutal.ts';
import type { CongestionController } from '../../congestion/controller.ts';
import { Cubic } from '../../congestion/cubic.ts';
import { NewReno } from '../../congestion/new-reno.ts';
import { SendControl } from '../../congestion/send-control.ts';
import type { RandomSource } from '../../crypto/random-source.ts';
import { copyEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import { MtuSearch } from '../path/mtu-search.ts';
import { Path } from '../path/path.ts';
import type { ConnectionSettings } from './connection-settings.ts';

/** Creates the paths of a connection, each with the congestion control of the settings or with a fixed rate. */
export class PathFactory {
  readonly #settings: ConnectionSettings;
  readonly #random: RandomSource;
  /** The fixed rate in bytes per millisecond; 0 for none. */
  #fixedRate = 0;

  constructor(settings: ConnectionSettings, random: RandomSource) {
    this.#settings = settings;
    this.#random = random;
  }

  /**
   * Creates a path.
   * @param from the path whose congestion control and MTU continue; see `PathsOptions.create`.
   */
  create(
    remote: IpEndpoint,
    local: IpEndpoint | undefined,
    from: Path<IpEndpoint> | undefined,
    validated: boolean,
  ): Path<IpEndpoint> {
    return new Path({
      remote: copyEndpoint(remote),
      local: local && copyEndpoint(local),
      control: from?.control ?? new SendControl(this.#createController(MIN_DATAGRAM), MIN_DATAGRAM),
      mtu: from?.mtu ?? new MtuSearch({ most: this.#settings.maxDatagram }),
      random: this.#random,
      validated,
    });
  }

  /**
   * Uses a fixed rate.
   * @param path the path in use; paths created later have the same rate.
   */
  useFixedRate(bytesPerSecond: number, path: Path<IpEndpoint>): void {
    if (bytesPerSecond <= 0) return;
    this.#fixedRate = bytesPerSecond / 1000;
    path.control.use(this.#createController(path.mtu.current));
  }

  #createController(mtu: number): CongestionController {
    if (this.#fixedRate > 0) return new Brutal(this.#fixedRate, mtu);
    const { congestion } = this.#settings;
    switch (congestion) {
      case 'bbr':
        return new Bbr(mtu, this.#random);
      case 'cubic':
        return new Cubic(mtu);
      case 'newreno':
        return new NewReno(mtu);
      default:
        return congestion satisfies never;
    }
  }
}
