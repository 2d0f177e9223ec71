/**
 * A TCP connection of the kernel, through a TUN device, to the stack, which echoes. It runs in a network namespace of
 * its own, so that the network of this machine does not change: needs root, and `unshare` of util-linux.
 *
 *   node tun-echo.js
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { type ConnectionRequest, Netstack } from '@weir/netstack';
import { systemClock, SystemRandomSource, systemSockets } from '@weir/netstack/system';

const IN_NAMESPACE = 'WEIR_EXAMPLE_NAMESPACE';

if (process.env[IN_NAMESPACE] === undefined) process.exit(runInNamespace());
await main();

/** Runs this file again in a new network namespace. Returns its exit code. */
function runInNamespace(): number {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) {
    console.error('this example creates a TUN device: it needs Linux and root');
    return 1;
  }
  const command = [process.execPath, ...process.execArgv, import.meta.filename];
  const { status, error } = spawnSync('unshare', ['--net', ...command], {
    stdio: 'inherit',
    env: { ...process.env, [IN_NAMESPACE]: '1' },
  });
  if (error) console.error(`cannot run unshare: ${error.message}`);
  return status ?? 1;
}

async function echo(request: ConnectionRequest): Promise<void> {
  console.log(`${request.source.host} connects to ${request.destination.host}`);
  const link = await request.accept();
  for (let chunk = await link.read(); chunk; chunk = await link.read()) await link.write(chunk);
  await link.closeWrite();
}

async function main(): Promise<void> {
  const sockets = systemSockets();
  if (sockets.kind !== 'kernel') {
    console.error(`a TUN device needs the kernel's own sockets: ${sockets.reason}`);
    process.exit(1);
  }
  const device = sockets.openTun({
    name: 'example0',
    mtu: 1500,
    addresses: [{ address: '10.99.0.1', prefix: 24 }],
    routes: [],
  });
  const stack = new Netstack({
    device,
    clock: systemClock,
    random: new SystemRandomSource(),
    // The stack acts as every host beyond the device.
    addresses: 'any',
    handlers: {
      onConnection: (request) => void echo(request).catch((error: unknown) => console.error(error)),
      onAssociation: ({ link }) => link.close(),
    },
    isPaced: false,
    settings: { maxFlows: 100, udp: false, udpIdle: 60_000 },
  });

  const socket = connect(7, '10.99.0.2');
  await once(socket, 'connect');
  console.log(`connected over ${device.name}`);
  socket.end('hello over TCP');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  console.log(`echoed: ${answer}`);

  await stack.whenLeft();
  stack.close();
  await stack.closed;
}
