"""A broker with SASL, TLS and both, and what its clients need."""
import subprocess

import broker

JAAS = "org.apache.kafka.common.security"


def guarded(folder):
    """Starts a broker with the listeners SASL, TLS (client certificates) and BOTH; the keys are in
    its `pki`."""
    make_pki(folder)
    tls = (f"ssl.keystore.type=PEM\nssl.keystore.location={folder}/broker.pem\n"
           f"ssl.truststore.type=PEM\nssl.truststore.location={folder}/ca.pem\n")
    scram = "".join(f"listener.name.sasl.scram-sha-{n}.sasl.jaas.config="
                    f"{JAAS}.scram.ScramLoginModule required;\n" for n in (256, 512))
    plain = ("listener.name.{}.plain.sasl.jaas.config=" + JAAS
             + ".plain.PlainLoginModule required user_alice=\"right\";\n")
    cluster = broker.Cluster(folder, users={"alice": "right"}, listeners={
        "SASL": ("SASL_PLAINTEXT", scram + plain.format("sasl")
                 + "listener.name.sasl.sasl.enabled.mechanisms="
                   "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN\n"),
        "TLS": ("SSL", tls + "listener.name.tls.ssl.client.auth=required\n"),
        "BOTH": ("SASL_SSL", plain.format("both")
                 + "listener.name.both.sasl.enabled.mechanisms=PLAIN\n")}).start()
    cluster.topic("otlp_spans", 1)
    cluster.pki = folder
    return cluster


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_pki(folder):
    """The broker trusts `ca`, not `other`."""
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    for ca in ("ca", "other"):
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{ca}.key",
                "-out", f"{ca}.pem", "-subj", f"/CN=test {ca}", "-days", "2")
    for name in ("broker", "client"):
        make_pair(folder, name, "ca")
    (folder / "broker.pem").write_text(
        (folder / "broker.key").read_text() + (folder / "broker.crt").read_text())


def make_pair(folder, name, ca):
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
            f"{name}.csr", "-subj", f"/CN={name}")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey",
            f"{ca}.key", "-CAcreateserial", "-out", f"{name}.crt", "-days", "2", "-extfile",
            "names")


def client(cluster, name, ca):
    """Makes a client's certificate, or replaces it by a new one; returns the settings of tls."""
    make_pair(cluster.pki, name, ca)
    return {"ca_file": f"{cluster.pki}/ca.pem", "cert_file": f"{cluster.pki}/{name}.crt",
            "key_file": f"{cluster.pki}/{name}.key"}


def sasl(mechanism, password="right"):
    return {"auth": {"sasl": {"username": "alice", "password": password, "mechanism": mechanism}}}


def newer(folder):
    """The environment in which spanlink loads the tests' librdkafka: Debian 12's cannot log in to
    Kafka 4 by SCRAM."""
    library = next((broker.CLIENT / "confluent_kafka.libs").glob("librdkafka-*.so.1"))
    (folder / "librdkafka.so.1").symlink_to(library)
    return {"LD_LIBRARY_PATH": str(folder)}
