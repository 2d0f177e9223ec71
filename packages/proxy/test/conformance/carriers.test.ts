import { CarrierPair, CARRIERS, type StreamPair } from '../../../../test/support/links/carriers.ts';
import { byteLinkConformance, type LinkEnds } from '../../../io/test/conformance/byte-link.ts';

/** The dialling end is left in one run and right in the other. */
async function ends(stream: StreamPair, dialerIsLeft: boolean): Promise<LinkEnds> {
  const carriers = await CarrierPair.open(stream);
  const { client, server } = await carriers.connect().catch(async (error: unknown) => {
    // A listener that is left open would keep the process from ending.
    await carriers[Symbol.asyncDispose]();
    throw error;
  });
  const [left, right] = dialerIsLeft ? [client, server] : [server, client];
  return {
    left: left.link,
    right: right.link,
    dispose: () => carriers[Symbol.asyncDispose](),
  };
}

for (const [name, stream] of Object.entries(CARRIERS)) {
  // Its first write opens it, so there are no two ends before that.
  if (name.includes('early data')) continue;
  byteLinkConformance(`${name}, seen from the dialling end,`, () => ends(stream, true));
  byteLinkConformance(`${name}, seen from the accepting end,`, () => ends(stream, false));
}
