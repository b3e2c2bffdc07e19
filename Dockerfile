# The image contains only the static binary. To choose the Go image, run:
# docker build --build-arg GO=1.26-bookworm .
# The target runner, with Node.js and uv, is for local servers:
# docker build --target runner .
ARG GO=1.26
ARG NODE=22-bookworm-slim
FROM golang:${GO} AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /gateway ./cmd/gateway \
 && mkdir /data

# Runs local servers, as the user node of the base image. uv and its uvx are the
# programs of the package of that name.
FROM node:${NODE} AS runner
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git python3 python3-venv tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/uv \
 && /opt/uv/bin/pip install --no-cache-dir uv \
 && ln -s /opt/uv/bin/uv /opt/uv/bin/uvx /usr/local/bin/
COPY --from=build /gateway /usr/local/bin/gateway
# Packages that npx and uvx download are kept in the home directory.
USER 1000:1000
ENV HOME=/home/node GATEWAY_LOG_FORMAT=json
WORKDIR /home/node
VOLUME /home/node
ENTRYPOINT ["/usr/local/bin/gateway", "runner"]

FROM scratch AS gateway
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
