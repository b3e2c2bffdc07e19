# The image contains only the static binary. To choose the Go image, run:
# docker build --build-arg GO=1.26-bookworm .
ARG GO=1.26
FROM golang:${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /gateway ./cmd/gateway \
 && mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /gateway /gateway
# An unprivileged user. The image has no shell, and only /data is writable.
USER 65532:65532
VOLUME /data
ENV GATEWAY_ADDR=0.0.0.0:8080 GATEWAY_DATABASE_URL=sqlite:/data/gateway.db
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/gateway", "healthcheck", "--url", "http://127.0.0.1:8080"]
ENTRYPOINT ["/gateway"]
CMD ["serve"]
