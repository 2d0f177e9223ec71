// A client of a Hysteria 2 server on quic-go, for one case; prints as JSON what it has seen.
//
//	quic-go SERVER CA SERVER_NAME PASSWORD ECHO CASE
//
// SERVER and ECHO are addresses; ECHO is that of an echo server, which the case "key update" reaches
// through the proxy.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
	"github.com/quic-go/quic-go/quicvarint"
)

const patience = 30 * time.Second

// The first key update of quic-go comes after 100 packets, each of at most 1,452 bytes.
const echoed = 4 << 20

// Of the protocol of Hysteria 2.
const tcpRequest = 0x401

var server, caFile, serverName, password, echoServer string

// Sessions for resumption.
var sessions = tls.NewLRUClientSessionCache(4)

// keyUpdates counts the changes of keys, of both sides.
type keyUpdates struct{ count atomic.Int64 }

func (k *keyUpdates) AddProducer() qlogwriter.Recorder { return k }
func (k *keyUpdates) Close() error                     { return nil }
func (k *keyUpdates) RecordEvent(event qlogwriter.Event) {
	if updated, ok := event.(qlog.KeyUpdated); ok && updated.Trigger != qlog.KeyUpdateTLS {
		k.count.Add(1)
	}
}

type client struct {
	*quic.Conn
	http    *http3.ClientConn
	updates *keyUpdates
}

func transport() (*quic.Transport, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	return &quic.Transport{Conn: socket}, err
}

// dial returns before the handshake is complete if early data may be sent.
func dial(ctx context.Context) (*client, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	settings := &tls.Config{
		RootCAs:            roots,
		ServerName:         serverName,
		NextProtos:         []string{http3.NextProtoH3},
		ClientSessionCache: sessions,
	}
	from, err := transport()
	if err != nil {
		return nil, err
	}
	to, err := net.ResolveUDPAddr("udp4", server)
	if err != nil {
		return nil, err
	}
	updates := &keyUpdates{}
	trace := func(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return updates }
	conn, err := from.DialEarly(ctx, to, settings, &quic.Config{Tracer: trace})
	if err != nil {
		return nil, err
	}
	return &client{conn, (&http3.Transport{}).NewClientConn(conn), updates}, nil
}

// page returns the status and the body of a response.
func (c *client) page(request *http.Request) (string, error) {
	response, err := c.http.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(body))), err
}

func (c *client) root(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+serverName+"/", nil)
	if err != nil {
		return "", err
	}
	return c.page(request)
}

func (c *client) authenticate(ctx context.Context, password string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://hysteria/auth", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Hysteria-Auth", password)
	request.Header.Set("Hysteria-CC-RX", "0")
	request.Header.Set("Hysteria-Padding", "xx")
	return c.page(request)
}

// echo sends bytes to the echo server through a proxied stream, and says whether they came back.
func (c *client) echo(ctx context.Context) (bool, error) {
	stream, err := c.OpenStreamSync(ctx)
	if err != nil {
		return false, err
	}
	head := quicvarint.Append(nil, tcpRequest)
	for _, text := range []string{echoServer, "padding"} {
		head = quicvarint.Append(head, uint64(len(text)))
		head = append(head, text...)
	}
	sent := make([]byte, echoed)
	if _, err := rand.Read(sent); err != nil {
		return false, err
	}
	writing := make(chan error, 1)
	go func() {
		_, err := stream.Write(append(head, sent...))
		writing <- errors.Join(err, stream.Close())
	}()
	reader := bufio.NewReader(stream)
	if status, err := reader.ReadByte(); err != nil || status != 0 {
		return false, fmt.Errorf("status %d: %w", status, err)
	}
	for range 2 { // a message and a padding
		size, err := quicvarint.Read(reader)
		if err != nil {
			return false, err
		}
		if _, err := io.CopyN(io.Discard, reader, int64(size)); err != nil {
			return false, err
		}
	}
	received, err := io.ReadAll(reader)
	return bytes.Equal(sent, received), errors.Join(err, <-writing)
}

// migrate continues on another port.
func (c *client) migrate(ctx context.Context) error {
	to, err := transport()
	if err != nil {
		return err
	}
	path, err := c.AddPath(to)
	if err != nil {
		return err
	}
	if err := path.Probe(ctx); err != nil {
		return err
	}
	return path.Switch()
}

type result map[string]any

func run(ctx context.Context, what string) (result, error) {
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.CloseWithError(0, "")
	switch what {
	case "a page":
		page, err := c.root(ctx)
		return result{"page": page}, err
	case "a wrong password":
		page, err := c.authenticate(ctx, "wrong")
		return result{"page": page}, err
	case "another port":
		if _, err := c.authenticate(ctx, password); err != nil {
			return nil, err
		}
		before := c.LocalAddr().String()
		if err := c.migrate(ctx); err != nil {
			return nil, err
		}
		page, err := c.root(ctx)
		return result{"page": page, "moved": c.LocalAddr().String() != before}, err
	case "key update":
		if _, err := c.authenticate(ctx, password); err != nil {
			return nil, err
		}
		same, err := c.echo(ctx)
		return result{"same": same, "updated": c.updates.count.Load() > 0}, err
	case "early data":
		if _, err := c.root(ctx); err != nil {
			return nil, err
		}
		again, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		defer again.CloseWithError(0, "")
		page, err := again.root(ctx)
		state := again.ConnectionState()
		return result{"page": page, "early": state.Used0RTT, "resumed": state.TLS.DidResume}, err
	}
	return nil, fmt.Errorf("no case %q", what)
}

func main() {
	server, caFile, serverName, password, echoServer = os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	seen, err := run(ctx, os.Args[6])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(seen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
