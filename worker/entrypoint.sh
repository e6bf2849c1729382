#!/bin/sh
# Starts what the arguments say, or an executor of Spark on Kubernetes, which has but the argument "executor".
#
# Gives the user that we run as a name: Hadoop's login refuses one without, and a cluster may run us as any number.
# /etc is read-only there, so the name comes from a library that answers in its place.
set -eu
if ! getent passwd "$(id -u)" >/dev/null; then
  export NSS_WRAPPER_PASSWD=/tmp/.passwd NSS_WRAPPER_GROUP=/etc/group
  { cat /etc/passwd; echo "penstock:x:$(id -u):$(id -g)::${HOME}:/bin/sh"; } >"$NSS_WRAPPER_PASSWD"
  export LD_PRELOAD=/opt/libnss_wrapper.so
fi
if [ "$*" = "python executor" ]; then
  set -- python -m penstock_worker.spark.executor
fi
exec "$@"
