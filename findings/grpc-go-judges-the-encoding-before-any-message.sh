#!/usr/bin/env bash
# google.golang.org/grpc v1.83.0, server: a request that names an encoding which is not registered gets status 12
# (UNIMPLEMENTED) at its headers, although no message is compressed and none was sent; a message with the compressed flag
# in a request that names no encoding gets 13 (INTERNAL), not 12. Expected: 12 for the message that cannot be decompressed,
# and for nothing else.
#
# Output seen: headers with grpc-encoding gzip: 12; flag without an encoding: 13
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module look

go 1.26

require (
	golang.org/x/net v0.58.0
	google.golang.org/grpc v1.83.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

func status(address string, encoding string, body io.Reader) string {
	transport := &http2.Transport{AllowHTTP: true, DialTLSContext: func(_ context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
		return net.Dial(network, address)
	}}
	request, err := http.NewRequest("POST", "http://"+address+"/look.Service/Stream", body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	if encoding != "" {
		request.Header.Set("Grpc-Encoding", encoding)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, response.Body)
	if code := response.Header.Get("Grpc-Status"); code != "" {
		return code
	}
	return response.Trailer.Get("Grpc-Status")
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "look.Service",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Stream", ClientStreams: true, ServerStreams: true,
			Handler: func(_ any, stream grpc.ServerStream) error {
				return stream.RecvMsg(&emptypb.Empty{})
			},
		}},
	}, struct{}{})
	go server.Serve(listener)
	address := listener.Addr().String()
	// The body of the first request stays open and empty.
	silent, _ := io.Pipe()
	fmt.Printf("headers with grpc-encoding gzip: %s; flag without an encoding: %s\n",
		status(address, "gzip", silent),
		status(address, "", bytes.NewReader([]byte{1, 0, 0, 0, 0})))
}
GO
GOTOOLCHAIN=go1.26.8 GOPATH="$folder/go" GOFLAGS=-mod=mod go run . | tee seen
[ "$(cat seen)" = 'headers with grpc-encoding gzip: 12; flag without an encoding: 13' ]
