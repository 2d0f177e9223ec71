import type { IpEndpoint } from '../../ip/ip-endpoint.ts';

/** The kernel chooses the device by its routes. */
export const ANY_DEVICE = 0;
/** There is no device that may be used. */
export const NO_DEVICE = -1;

/** Chooses the devices by which the sockets of this process send, where its own routes must not. */
export interface DeviceChoice {
  /**
   * @param destination its port does not count.
   * @returns the index of an interface, ANY_DEVICE or NO_DEVICE.
   */
  deviceFor(destination: IpEndpoint): number;
}
