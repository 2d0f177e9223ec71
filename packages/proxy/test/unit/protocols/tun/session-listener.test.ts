import { LinkClosedError } from '@weir/io';
import { sessionListenerConformance } from '../../../conformance/session-listener.ts';
import { until } from '../../../../../io/test/conformance/packet-link.ts';
import { endpoint, TunRig } from '../../../../../../test/support/protocols/tun/tun-rig.ts';

// A flow of a device is its session: the registry holds each as long as it lives.
const rig = new TunRig();
rig.dispatcher.onStream = async (request) => {
  const link = await request.accept();
  await link.write(Buffer.from(request.origin.inbound));
  await link.closed;
};

sessionListenerConformance('a TUN listener keeps the contract of a SessionListener', {
  listen: { kind: 'none' },
  server: (name) => rig.server({}, name),
  async connect(_listener, registry) {
    const programs = rig.programs();
    const before = registry.count;
    const link = await programs.connect(endpoint('192.0.2.1', 80), AbortSignal.timeout(10_000));
    const greeting = Buffer.from((await link.read()) ?? '').toString();
    return {
      server: () => Promise.resolve(greeting),
      ended: link.closed.then(() => undefined),
      async end() {
        link.destroy(new LinkClosedError());
        await until(() => registry.count <= before);
      },
    };
  },
});
