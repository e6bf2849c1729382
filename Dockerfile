# The images: `operator` (the command line and the operator; no Java, no Spark) and `worker` (Python, Java and Spark).
# Both run as any user, on a read-only root, with a writable /tmp. `make images` builds them; so does
#   docker build --target operator .

FROM debian:trixie-slim AS python
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
ENV PATH=/opt/penstock/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp


# Everything that builds stays in the stages below; only /opt/penstock leaves them.
FROM python AS build
RUN apt-get update && apt-get install --yes --no-install-recommends python3-venv
# Where there is a mirror, or a proxy with an authority of its own, a build is told so from outside: by these variables
# (--build-arg), of which each stage names those that it uses, and by the secret "certificates" (--secret).
ARG PIP_CERT
ARG PIP_INDEX_URL
ARG SSL_CERT_FILE
ARG UV_DEFAULT_INDEX
ARG UV_VERSION=0.13.8
RUN --mount=type=secret,id=certificates \
    python3 -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir "uv==${UV_VERSION}"
ENV UV_PYTHON=/opt/penstock \
    UV_NO_CACHE=1 \
    UV_PYTHON_DOWNLOADS=never \
    UV_CONSTRAINT=constraints.txt \
    UV_BUILD_CONSTRAINT=build-constraints.txt \
    UV_LINK_MODE=copy
WORKDIR /src
COPY constraints.txt build-constraints.txt ./
RUN /opt/build/bin/uv venv --python /usr/bin/python3 /opt/penstock

FROM build AS build-operator
ARG SSL_CERT_FILE
ARG UV_DEFAULT_INDEX
COPY VERSION LICENSE ./
COPY jetstream jetstream
COPY operator operator
RUN --mount=type=secret,id=certificates \
    /opt/build/bin/uv pip install ./jetstream ./operator \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/penstock/lib

# Spark first, in a layer of its own: it is large, and changes less often than our sources. Tests and headers of the
# libraries are of no use at run time (numpy's are: numpy.testing imports some).
FROM build AS build-worker
ARG SSL_CERT_FILE
ARG UV_DEFAULT_INDEX
RUN --mount=type=secret,id=certificates \
    /opt/build/bin/uv pip install "pyspark[connect]" pandas pyarrow \
 && cd /opt/penstock/lib/python3*/site-packages \
 && rm -rf pandas/tests pyarrow/tests pyarrow/include pyarrow/src pyspark/examples pyspark/data \
 && find pyspark -type d -name tests -prune -exec rm -rf {} + \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/penstock/lib
# RocksDB comes for fourteen machines in one jar, 72 MB of it: what is left is for this one.
RUN apt-get update && apt-get install --yes --no-install-recommends zip \
 && case "$(uname -m)" in x86_64) machine=linux64 ;; *) machine="linux-$(uname -m)" ;; esac \
 && zip --quiet --delete /opt/penstock/lib/python3*/site-packages/pyspark/jars/rocksdbjni-*.jar \
      'librocksdbjni-*' --exclude "librocksdbjni-$machine.so"
COPY VERSION LICENSE ./
COPY jetstream jetstream
COPY worker worker
RUN --mount=type=secret,id=certificates \
    /opt/build/bin/uv pip install ./jetstream ./worker \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/penstock/lib


FROM python AS operator
ARG VERSION=
LABEL org.opencontainers.image.title="Penstock operator" \
      org.opencontainers.image.description="Leads messages from NATS JetStream to Spark: the operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build-operator /opt/penstock /opt/penstock
USER 10001:10001
WORKDIR /tmp
EXPOSE 8080
ENTRYPOINT ["penstock", "operator"]


FROM python AS worker
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-21-jre-headless libnss-wrapper tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
 && ln -s "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" /opt/java \
 && ln -s "$(find /usr/lib -name libnss_wrapper.so)" /opt/libnss_wrapper.so
ENV JAVA_HOME=/opt/java \
    SPARK_LOCAL_DIRS=/tmp \
    PENSTOCK_JAVA_ARCHIVES=/opt/penstock-java
ARG VERSION=
LABEL org.opencontainers.image.title="Penstock worker" \
      org.opencontainers.image.description="Python, Java and Spark for Penstock's workers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --chmod=755 worker/entrypoint.sh /opt/entrypoint.sh
COPY --from=build-worker /opt/penstock /opt/penstock
# Spark works once, and leaves its classes laid out for the JVMs that start from this image: they start in half the time.
RUN python -m penstock_worker.driver.warming "$PENSTOCK_JAVA_ARCHIVES" \
 && chmod -R a+rX "$PENSTOCK_JAVA_ARCHIVES" \
 && rm -rf /tmp/*
USER 10001:10001
WORKDIR /tmp
# The first process of a container has to take in what others leave behind: Spark's Python workers, say.
ENTRYPOINT ["tini", "--", "/opt/entrypoint.sh", "python"]
