import { socksIn } from '../../test/support/process/config.ts';
import { RAY_SOCKS_IN } from '../../test/support/ways/ray.ts';
import type { TunnelEnd } from './peer.ts';

/*
 * SOCKS in front of one tunnel, in each program's format. None of them uses a device: their TCP/IP stacks
 * are their own.
 */

export const weirConfig = (end: TunnelEnd): string =>
  `${socksIn()}[[outbound]]\ntag = "wg"\nprotocol = "wireguard"\n[outbound.settings]\n` +
  `private_key = "${end.privateKey}"\npeer_public_key = "${end.peerPublicKey}"\n` +
  `endpoint = "${end.host}:${end.port}"\naddress = ["${end.address}"]\nmtu = ${end.mtu}\n`;

/** @param port of its SOCKS inbound. */
export const singBoxConfig = (end: TunnelEnd, port: number) => ({
  log: { level: 'warn' },
  inbounds: [{ type: 'socks', listen: '127.0.0.1', listen_port: port }],
  endpoints: [
    {
      type: 'wireguard',
      tag: 'wg',
      system: false,
      mtu: end.mtu,
      address: [`${end.address}/32`],
      private_key: end.privateKey,
      peers: [
        {
          address: end.host,
          port: end.port,
          public_key: end.peerPublicKey,
          allowed_ips: ['0.0.0.0/0'],
        },
      ],
    },
  ],
  route: { final: 'wg' },
});

/** @param port of its SOCKS inbound. */
export const xrayConfig = (end: TunnelEnd, port: number) => ({
  log: { loglevel: 'warning' },
  inbounds: [{ ...RAY_SOCKS_IN, listen: '127.0.0.1', port }],
  outbounds: [
    {
      protocol: 'wireguard',
      settings: {
        secretKey: end.privateKey,
        address: [`${end.address}/32`],
        peers: [{ publicKey: end.peerPublicKey, endpoint: `${end.host}:${end.port}` }],
        mtu: end.mtu,
        // As root it would make a device otherwise.
        noKernelTun: true,
      },
    },
  ],
});
