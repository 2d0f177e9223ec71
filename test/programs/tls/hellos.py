"""Changes of a ClientHello of tlslite-ng, for `handshakes.py`: each is a function of it, or returns one."""

from tlslite.constants import ExtensionType
from tlslite.extensions import ALPNExtension, KeyShareEntry, TLSExtension

# RFC 8701.
GREASE, GREASE_EXTENSION, LAST_GREASE = 0x0A0A, 0x1A1A, 0xFAFA


def extension(hello, kind):
    return hello.getExtension(kind)


def grease(hello):
    """GREASE as browsers send it: first, and last among the extensions too."""
    hello.cipher_suites.insert(0, GREASE)
    hello.extensions.insert(0, TLSExtension(extType=GREASE_EXTENSION).create(bytearray()))
    hello.extensions.append(TLSExtension(extType=LAST_GREASE).create(bytearray(1)))
    extension(hello, ExtensionType.supported_groups).groups.insert(0, GREASE)
    extension(hello, ExtensionType.signature_algorithms).sigalgs.insert(0, (0x0A, 0x0A))
    extension(hello, ExtensionType.supported_versions).versions.insert(0, (0x0A, 0x0A))
    shares = extension(hello, ExtensionType.key_share).client_shares
    shares.insert(0, KeyShareEntry().create(GREASE, bytearray(1)))


def versions(*values):
    def edit(hello):
        extension(hello, ExtensionType.supported_versions).versions = list(values)

    return edit


def legacy_version(value):
    def edit(hello):
        hello.client_version = value

    return edit


def without(kind):
    def edit(hello):
        hello.extensions = [e for e in hello.extensions if e.extType != kind]

    return edit


def attribute(name, value):
    def edit(hello):
        setattr(hello, name, value)

    return edit


def groups(hello):
    extension(hello, ExtensionType.supported_groups).groups = [GREASE]
    extension(hello, ExtensionType.key_share).client_shares = []


def signatures(hello):
    extension(hello, ExtensionType.signature_algorithms).sigalgs = [(0x0A, 0x0A)]


def twice(hello):
    hello.extensions.insert(0, extension(hello, ExtensionType.signature_algorithms))


def protocols(*names):
    def edit(hello):
        hello.extensions.append(ALPNExtension().create([bytearray(name) for name in names]))

    return edit


def server_name(name):
    def edit(hello):
        extension(hello, ExtensionType.server_name).hostNames = [bytearray(name)]

    return edit


def broken_share(hello):
    """A point that is not on the curve."""
    secp256r1 = 23
    share = KeyShareEntry().create(secp256r1, bytearray(b"\4" + bytes(64)))
    extension(hello, ExtensionType.key_share).client_shares = [share]


def large(hello):
    hello.extensions.append(TLSExtension(extType=GREASE_EXTENSION).create(bytearray(60_000)))
